"""Words of everyday life by topic: who, what, what they do, where, what it is about and how things are."""

from __future__ import annotations

import re
from typing import NamedTuple

from sfumato.concepts.detectors.dictionary import listed


class Topic(NamedTuple):
    """Words that belong together, so that sentences made from them make sense."""

    name: str
    who: tuple[str, ...]
    """People and other actors, singular."""
    what: tuple[str, ...]
    """Things, singular, that can be counted."""
    acts: tuple[str, ...]
    """What the actors do, the verb first and in its base form."""
    where: tuple[str, ...]
    """Places and occasions with their preposition."""
    about: tuple[str, ...]
    """Matters that take no article."""
    how: tuple[str, ...]
    """Adjectives for the things."""


def _topics(text: str) -> tuple[Topic, ...]:
    """Read topics written as `name: who | what | acts | where | about | how`."""
    parts = re.split(r"^([a-z ]+):", text.strip(), flags=re.MULTILINE)[1:]
    return tuple(
        Topic(name, *(listed(field) for field in fields.split("|")))
        for name, fields in zip(parts[::2], parts[1::2], strict=True)
    )


TOPICS = _topics("""
football: striker; goalkeeper; referee; coach; defender; supporter | penalty; corner kick; red card; stadium;
free kick; transfer; substitute | score a late goal; miss an open goal; win the cup final; lose at home; pass
the ball sideways; sign a new contract; argue with the referee; limp off the field | at the stadium; in the
second half; on the training ground | possession; injury time; relegation | narrow; disputed; late; decisive
athletics: sprinter; swimmer; cyclist; runner; tennis player; gymnast; boxer; golfer | marathon; medal;
record; racket; hurdle; finish line; swimming pool | train twice a day; break the world record; cross the line
first; pull a muscle; stretch before the race; fail a doping test; climb the steep hill | in the final lap; at
the Olympics; on the track | endurance; fair play; doping | gruelling; personal; unbeaten; silver
weather: forecaster; sailor; meteorologist; hiker | thunderstorm; cold front; heat wave; rain shower; rainbow;
snowfall; thermometer; umbrella; fog bank | warn of strong winds; predict heavy rain; clear the snow; shelter
from the hail; measure the humidity; watch the dark clouds | along the coast; over the mountains; in the early
morning | drizzle; sunshine; frost; humidity; fog | mild; freezing; cloudy; windy; humid
disasters: rescuer; survivor; firefighter; paramedic; volunteer; villager | earthquake; flood; hurricane;
wildfire; landslide; evacuation; aftershock; shelter; volcano | search the rubble; flee the rising water; put
out the fire; hand out blankets; lose everything; pull a child from the wreckage; declare an emergency; repair
the broken dam | after the earthquake; in the flooded village; near the burning forest | damage; relief aid;
debris; smoke | deadly; massive; sudden; devastating
railways: conductor; commuter; train driver; passenger | train; platform; ticket; timetable; tunnel; railway
bridge; tram; suitcase; sleeping car | miss the connection; wait for the delayed train; buy a return ticket;
change at the next station; doze by the window; check the tickets | on platform two; at the central station;
in the crowded carriage | public transport; rush hour; delay | crowded; overnight; punctual; regional
flying: pilot; flight attendant; tourist; air traffic controller; traveller | aircraft; boarding pass; runway;
passport; suitcase; airport; helicopter; jet engine | land in thick fog; cancel the flight; board the plane;
go through customs; fasten the seat belt; cross three time zones; apply for a visa | at the departure gate; on
the long flight; above the clouds | jet lag; turbulence; airport security | delayed; direct; cheap; non-stop
holidays: guide; guest; backpacker; hotel manager; receptionist; camper | hotel; beach; souvenir; campsite;
sea view; cable car; tent; double room | book a room with a balcony; lie in the sun; explore the old town;
complain about the noise; rent a boat; swim before breakfast; send a postcard | at the hotel; on the sandy
beach; in the old town | sightseeing; room service; tourism; breakfast | charming; remote; expensive; sunny
roads: driver; mechanic; cyclist; lorry driver; taxi driver; pedestrian; motorist | car; engine; tyre; traffic
jam; roundabout; brake; petrol station; motorway; bumper; parking space; truck; motorcycle | change a flat
tyre; stop at the red light; overtake a slow lorry; run out of petrol; replace the brake pads; swerve to avoid
a dog; fail the driving test; charge the battery | on the motorway; at the crossroads; in the garage |
traffic; fuel; insurance; speeding | second-hand; electric; rusty; reliable
ships: captain; fisherman; sailor; harbour master; diver | ship; lighthouse; anchor; ferry; net; harbour;
cargo; sail; wreck; submarine | sail around the cape; drop the anchor; drift off course; unload the cargo;
steer into the harbour; sink in deep water; repair the nets | in the harbour; on the open sea; below deck |
navigation; piracy; shipping; fishing | seaworthy; abandoned; heavy; rough
baking: baker; cook; grandmother; confectioner | cake; loaf; oven; pie; biscuit; recipe; mixing bowl; apple
tart; pancake; rolling pin | knead the dough; preheat the oven; beat the eggs until stiff; melt the butter;
sprinkle sugar on top; sift the flour; burn the crust; let the bread cool | in a warm kitchen; on a baking
tray; at the bakery | flour; yeast; chocolate; vanilla; sugar; cinnamon | sweet; crisp; homemade; golden
cooking: chef; cook; butcher; student | soup; frying pan; onion; stew; salad; curry; potato; omelette; tomato;
saucepan | chop the onions; simmer the sauce for an hour; fry the garlic in olive oil; season the meat; drain
the pasta; slice the carrots; stir in the cream; roast a chicken | over low heat; in the kitchen; for dinner |
garlic; olive oil; pepper; rice; cheese; fish; beef | spicy; tender; raw; salty; delicious
restaurants: waiter; customer; diner; food critic; barista; bartender | menu; bill; table; dessert; glass of
wine; steak; sandwich; tip; beer; pizza | order the daily special; leave a generous tip; serve cold soup;
reserve a table; pour the wine; drink black coffee; praise the service | at a small restaurant; in the cafe;
at the bar | service; coffee; seafood; wine; atmosphere | overpriced; tasty; friendly; bland; vegetarian
gardening: gardener; neighbour; florist; botanist | rose; lawn; hedge; flower bed; greenhouse; seedling;
shovel; tulip; watering can; weed; cactus; shrub | water the tomatoes; prune the roses; mow the lawn; plant
bulbs in autumn; rake the leaves; pick ripe cherries; spray against aphids | in the garden; beside the pond;
under the apple tree | compost; soil; shade; fertiliser; pollen | blooming; thorny; overgrown; leafy
farming: farmer; shepherd; vet; milkmaid; beekeeper; farm worker | cow; tractor; field; barn; sheep; harvest;
orchard; pig; hen; beehive; plough | milk the cows; harvest the wheat; plough the field; feed the chickens;
shear the sheep; sow barley; mend the fence; lose the crop to drought; collect the eggs | on the farm; in the
barn; at the cattle market | livestock; wheat; irrigation; milk; hay; maize | muddy; fertile; organic; hungry
pets: puppy; cat; dog; kitten; poodle; terrier | leash; collar; rabbit; hamster; cage; ball; goldfish; litter
box; guinea pig; basket | chase a squirrel; bark at the postman; sleep on the sofa; scratch the furniture; wag
its tail; catch a stick; walk in the park; lick its paws; hide under the bed | in the park; on the sofa; at
the animal shelter | pet food; fur; obedience; grooming | playful; fluffy; stray; tiny; brown
wildlife: elephant; wolf; eagle; lion; bear; monkey; hunter; fox; leopard | nest; herd; feather; antelope;
snake; lynx; cub; owl; deer; national park; tiger; frog | hunt at night; guard the cubs; migrate south in
winter; build a nest; track the herd; swim across the river; attack the weakest animal; hibernate in a cave;
climb a tree | in the savannah; in the wild; at the zoo | extinction; poaching; camouflage; biodiversity |
endangered; wild; nocturnal; venomous; rare
sea life: whale; shark; dolphin; diver; seal; octopus; penguin | coral reef; jellyfish; shell; salmon; turtle;
crab; fin; wave; seahorse; tide pool | dive to the sea floor; surface for air; feed on plankton; wash up on
the beach; change colour; tag a shark; follow the current; lay eggs in the sand | beneath the waves; off the
coast; on the reef | plankton; overfishing; salt water; seaweed | tropical; deep; transparent; blue
mountains: hiker; climber; skier; mountain guide; forester | path; summit; valley; waterfall; glacier; rope;
pine tree; backpack; river; trail; snowboard | reach the summit; lose the path; cross the stream; ski down the
slope; slip on the ice; follow the marked trail; cut down an old tree; light a fire | in the forest; on the
ridge; beside the lake | fresh air; altitude; snow; wilderness; timber | steep; rocky; frozen; quiet; ancient
hospital: surgeon; nurse; patient; doctor; anaesthetist; midwife; physician | operation; scan; bandage; wound;
ward; x-ray; stethoscope; blood test; incision; catheter; stretcher; scar | examine the patient; complain of
sharp pain; recover from surgery; remove the appendix; take the blood pressure; give birth to twins; suffer a
stroke; dress the wound; discharge the patient; admit the patient overnight | in the emergency room; on the
ward; after the operation | anaesthesia; blood pressure; surgery; intensive care; history of smoking |
chronic; acute; painful; benign; surgical
clinic: dentist; pharmacist; family doctor; optician; physiotherapist; allergist; patient | tooth;
prescription; tablet; vaccine; symptom; filling; dose; rash; pair of glasses; side effect; knee; allergy;
infection | prescribe antibiotics; pull a tooth; take two tablets daily; test the hearing; miss an
appointment; develop a rash; treat the infection; cough at night; wear glasses; refuse the vaccine | at the
clinic; in the waiting room; at the pharmacy | medication; treatment; diagnosis; prevention; hygiene | mild;
contagious; swollen; sore; effective
mind and body: psychologist; therapist; insomniac; counsellor; trainer; dietitian; yoga teacher | habit; panic
attack; diet; dream; gym; dumbbell; memory; mood; workout; calorie; muscle; nightmare | lie awake at night;
lose weight slowly; talk about the past; breathe deeply; lift heavy weights; skip breakfast; meditate every
morning; quit smoking; overcome a fear of heights | in therapy; at the gym; before bedtime | anxiety;
depression; stress; sleep; protein; self-esteem | healthy; obsessive; relaxed; anxious; low-fat
banking: banker; customer; teller; borrower; lender; accountant; tax adviser; retiree | loan; bank account;
credit card; mortgage; interest rate; savings account; tax return; cheque; budget; invoice; deposit | pay off
the mortgage; transfer the money; open an account; deduct the expenses; raise interest rates; save for
retirement; file a tax return; miss a payment; withdraw cash | at the bank; at the end of the month; on the
tax form | inflation; debt; interest; income tax; cash | fixed; monthly; taxable; overdue; low
markets: investor; trader; analyst; broker; shareholder; economist; central banker | share; bond; dividend;
fund; merger; portfolio; quarter; takeover; stock exchange; currency; recession; forecast; commodity | sell
the shares; beat expectations; post a quarterly loss; bet against the dollar; cut the forecast; issue new
bonds; buy back stock; raise fresh capital; close lower; predict a recession | on the stock market; in early
trading; on the trading floor | growth; profit; crude oil; volatility; unemployment; revenue | volatile;
bullish; strong; annual; undervalued
business: manager; founder; consultant; executive; entrepreneur; supplier; director; sales representative |
company; contract; deal; meeting; brand; strategy; warehouse; start-up; factory; supply chain; product;
advertisement; competitor | launch a new product; cut two hundred jobs; sign the contract; open a factory
abroad; hire a consultant; lose a major client; negotiate a better price; assemble the parts; expand into
Asia; move the headquarters | at the board meeting; on the assembly line; at the trade fair | marketing;
management; logistics; steel; bankruptcy; outsourcing | profitable; global; competitive; family-run
work: employee; boss; colleague; intern; recruiter; applicant; secretary; union leader | job; interview;
salary; desk; deadline; promotion; strike; shift; email; office; contract; career; resume | apply for the job;
ask for a raise; work from home; resign in protest; finish the report; join the union; attend the meeting;
train the new staff; take a day off; answer the emails | at the office; in the interview; during the lunch
break | overtime; teamwork; sick leave; experience; burnout | part-time; stressful; temporary; well-paid
shopping: shopper; cashier; shop assistant; shopkeeper; thief; customer | supermarket; dress; pair of shoes;
discount; receipt; gift; trolley; shelf; jacket; refund; handbag; shirt; shopping bag; jewel | return the
shoes; compare the prices; try on a coat; queue at the till; wrap the present; wear a red dress; forget the
receipt; order it online; haggle over the price | at the shopping mall; in the sale; at the checkout |
clothing; fashion; jewellery; perfume; cotton; leather | stylish; cheap; woollen; faulty; blue
home: plumber; landlord; tenant; electrician; neighbour; painter; cleaner; estate agent | house; roof; leak;
kitchen; washing machine; apartment; window; staircase; boiler; carpet; sofa; lamp; bathroom; fridge;
wardrobe; chair | fix the leaking tap; paint the ceiling; move into the flat; pay the rent; clean the windows;
hang the curtains; replace the fuse; iron the shirts; lock the door; knock down the wall; vacuum the stairs |
in the living room; on the second floor; in the basement | rent; electricity; dust; heating; furniture;
laundry | spacious; damp; noisy; wooden; furnished
building: architect; builder; engineer; bricklayer; carpenter; city planner | bridge; skyscraper; crane;
foundation; brick; cathedral; tower; scaffold; blueprint; ladder; beam; tunnel; hammer; drill | design the new
library; pour the concrete; climb the ladder; measure the beam; restore the old tower; demolish the factory;
saw the planks; inspect the bridge | on the construction site; above the city; in the workshop | concrete;
glass; timber; steel; urban planning | tall; historic; solid; unfinished; medieval
software: programmer; developer; system administrator; tester; user; data engineer; maintainer | bug;
database; server; function; pull request; library; query; compiler; thread; log file; variable; test suite;
interface; file; table | fix the memory leak; deploy the update; write unit tests; restart the server; merge
the branch; parse the file; return a null pointer; throw an exception; review the code; index the table;
install the package; sort the array | in production; in the terminal; on the main branch | source code;
latency; memory; Python; open source; JavaScript; caching | deprecated; recursive; asynchronous; slow; missing
internet: hacker; user; blogger; moderator; security expert; influencer; gamer | password; website; phone;
app; browser; video; laptop; account; virus; link; screen; social network; router; tablet; keyboard; search
engine | reset the password; click on the link; post a photo; download the app; delete the account; leak the
data; block the spammer; charge the phone; upload a video; crash the website; share the article; play online |
on the internet; in the app; on social media | spam; privacy; encryption; broadband; fake news; advertising |
wireless; viral; broken; encrypted; mobile
data science: data scientist; researcher; statistician; reviewer; engineer; robot | model; data set; neural
network; algorithm; survey; sample; hypothesis; graph; robot; parameter; prediction; error rate; chart; sensor
| train the model; plot the results; collect more samples; reject the hypothesis; label the images; estimate
the mean; publish the paper; reduce the dimension; recognise speech; grip a fragile object | in the
experiment; on the test set; in the laboratory | machine learning; statistics; accuracy; bias; regression;
automation | significant; linear; noisy; robust; random
mathematics: mathematician; student; teacher; logician | equation; theorem; triangle; prime number; proof;
integral; fraction; polynomial; vector; set | solve the equation; prove the theorem; draw a circle; count the
edges; multiply both sides by two; find the shortest path | on the blackboard; in the exam; in higher
dimensions | geometry; algebra; probability; infinity; logic | infinite; equal; rational; unique; complex
space: astronomer; astronaut; cosmologist; rocket engineer | planet; telescope; star; galaxy; rocket; comet;
black hole; orbit; crater; moon; space station | orbit the planet; launch a rocket; discover a distant galaxy;
land on the moon; repair the telescope; search for signs of life | in orbit; on the surface of Mars; in the
night sky | gravity; dark matter; radiation; starlight | distant; bright; massive; red; lunar
physics and chemistry: physicist; chemist; laboratory assistant; inventor; engineer | atom; molecule; laser;
reaction; acid; magnet; particle; crystal; battery; lens; solvent; electron; wave | heat the solution; split
the atom; measure the temperature; mix the chemicals; absorb the light; conduct electricity; freeze at low
pressure; spill the acid; detect a new particle | in the laboratory; at high pressure; under the microscope |
oxygen; energy; friction; carbon; hydrogen; quantum mechanics | toxic; magnetic; soluble; unstable; metallic
biology: cell; bacterium; virus; geneticist; fungus; parasite; mutant; microbiologist | cell; gene; protein;
enzyme; mouse; bacterium; brain; receptor; tissue; tumour; species; nerve; hormone | sequence the genome;
inhibit the enzyme; bind to the receptor; divide rapidly; infect the cells; grow in culture; mutate quickly;
survive without oxygen; suppress the immune response | in the blood; in mice; in the cell nucleus | evolution;
metabolism; DNA; inflammation; photosynthesis; insulin | genetic; cellular; viral; dominant; microscopic
environment: activist; climate scientist; environmentalist; miner; oil company; campaigner | wind turbine;
power plant; solar panel; oil spill; coal mine; river; landfill; pipeline; plastic bottle; reactor; emission;
rainforest | cut carbon emissions; pollute the river; recycle the plastic; protest against the pipeline;
install solar panels; shut down the reactor; plant a million trees; drill for oil; ban single-use plastic | in
the Arctic; at the climate summit; near the power station | pollution; global warming; renewable energy;
waste; natural gas; drought | clean; nuclear; sustainable; toxic; harmful
law: judge; lawyer; witness; defendant; prosecutor; juror; notary; plaintiff | trial; verdict; contract;
appeal; lawsuit; clause; will; patent; fine; law; licence; court order; settlement | sue the company; plead
not guilty; dismiss the case; testify in court; sign the agreement; appeal the verdict; draft the contract;
breach the terms; overturn the ruling; claim damages | in court; under the law; before the judge | evidence;
copyright; liability; custody; justice; compensation | legal; binding; guilty; unconstitutional; civil
crime: police officer; detective; burglar; suspect; gunman; victim; prisoner; kidnapper; smuggler | robbery;
murder; gun; prison; fingerprint; arrest; bomb; investigation; cell; alibi; stolen car; gang | rob a bank;
arrest the suspect; shoot at the police; escape from prison; deny the charges; stab a man; smuggle drugs;
search the car; confess to the murder; kidnap the girl | at the crime scene; in prison; in a dark alley |
fraud; violence; drug trafficking; corruption; self-defence | violent; armed; stolen; fatal; suspicious
politics: president; senator; voter; candidate; minister; opposition leader; mayor; governor; prime minister |
election; bill; party; vote; speech; campaign; reform; debate; law; poll; coalition; scandal; referendum; tax
cut | win the election; veto the bill; call for reforms; resign after the scandal; vote against the budget;
address the nation; raise taxes; form a coalition; lead in the polls; repeal the law | in parliament; on the
campaign trail; at the party conference | democracy; immigration; welfare; corruption; health care; education
policy | conservative; liberal; controversial; public; federal
world affairs: diplomat; soldier; general; refugee; rebel; foreign minister; hostage; militant; peacekeeper;
spy | treaty; war; border; missile; ceasefire; army; embassy; sanction; tank; peace talk; drone; invasion;
summit; weapon; bomb | sign a peace treaty; bomb the capital; cross the border; withdraw the troops; impose
sanctions; fire a missile; condemn the attack; free the hostages; resume the talks; guard the bridge; expel
the ambassador | at the United Nations; on the front line; near the border | diplomacy; terrorism; human
rights; genocide; national security; foreign aid | military; nuclear; bilateral; hostile; armed
school: teacher; pupil; headmaster; classmate; tutor; parent | exam; lesson; classroom; textbook; essay;
grade; blackboard; pencil; school bus; kindergarten; uniform | pass the exam; forget the homework; raise a
hand; spell the word; explain the rule; read aloud; fail mathematics; bully a classmate; skip the lesson;
learn a poem by heart | in the classroom; at school; in the playground | homework; spelling; discipline;
bullying; literacy | strict; difficult; easy; curious; gifted
university: professor; student; lecturer; dean; scholar; librarian; graduate | lecture; degree; thesis;
scholarship; library; seminar; campus; footnote; course; admission; fee; conference; experiment | study
engineering; write a thesis; give a lecture; drop out of college; borrow a book; graduate with honours; win a
scholarship; cite the source; apply to graduate school | at the university; in the library; on campus |
research; philosophy; sociology; tuition; plagiarism; economics | academic; rigorous; mandatory; prestigious
family: mother; father; daughter; baby; grandfather; husband; aunt; twin; toddler; wife; little boy; sister |
birthday; wedding; toy; cradle; family; quarrel; nappy; present; photo album; stroller; bride; swing | rock
the baby to sleep; celebrate a birthday; miss the children; propose on one knee; argue about money; tell a
bedtime story; blow out the candles; hug the baby; get married in June | at the wedding; at home; on the swing
| love; marriage; parenthood; childhood; pregnancy | proud; adopted; newborn; happy; spoiled
feelings: friend; stranger; lover; liar; pessimist; dreamer; roommate; coward | promise; secret; lie; apology;
choice; mistake; hug; tear; smile; joke; regret; rumour | apologise at last; keep the secret; laugh at the
joke; fall in love; break the promise; cry for hours; trust nobody; lose hope; forgive the stranger; envy the
neighbours; tell the truth | in silence; at a party; in the end | happiness; grief; anger; loneliness;
courage; trust; jealousy | honest; lonely; selfish; grateful; awkward
music: singer; guitarist; drummer; pianist; composer; conductor; band; violinist; rapper | song; guitar;
concert; album; violin; piano; melody; orchestra; choir; symphony; microphone; flute; chord; drum | play the
guitar; tune the violin; record an album; sing out of tune; write a love song; tour Europe; practise the
scales; conduct the orchestra; clap along; dance to the music | on stage; at the concert hall; in the studio |
jazz; rhythm; opera; hip hop; harmony; folk music | loud; melodic; acoustic; catchy; classical
film and stage: actor; director; actress; dancer; comedian; screenwriter; film critic; puppeteer; magician |
film; scene; plot; script; camera; sequel; play; costume; character; documentary; comedy; ballet; trailer;
thriller; audience; television series | direct a thriller; forget the lines; win an award; play the villain;
film in the desert; dance on the table; bow to the audience; overact in every scene; watch the final episode;
cast an unknown actor | at the cinema; on television; in the last scene | suspense; acting; dialogue;
animation; humour | boring; hilarious; predictable; touching; clumsy; brilliant
art: painter; sculptor; photographer; collector; curator; potter; art dealer; model | portrait; statue;
gallery; canvas; exhibition; brush; camera; frame; landscape; mosaic; vase; drawing | paint a self-portrait;
carve the marble; frame the photograph; sell a forged painting; restore the fresco; take a picture of the
sunset; mix the colours; open an exhibition | in the gallery; at the auction; in the studio | sculpture;
watercolour; pottery; perspective; black-and-white photography | abstract; colourful; famous; surreal; modern
books and news: writer; journalist; poet; editor; reader; translator; publisher; reporter; newsreader;
publicist | novel; poem; newspaper; chapter; headline; article; interview; magazine; bookshop; short story;
dictionary; paragraph; biography; letter | write a novel; interview the minister; publish the letters;
translate the poem; correct the spelling; report from the scene; read the last chapter; quote an anonymous
source; review the book; misspell the name | on the front page; in the first chapter; at the book fair |
poetry; grammar; journalism; fiction; censorship; irony | gripping; unpublished; bestselling; ironic; lengthy
history: king; queen; archaeologist; knight; historian; explorer; emperor; slave; pharaoh | castle; empire;
tomb; sword; battle; temple; coin; manuscript; ruin; revolution; colony; dynasty; pyramid | conquer the city;
bury the king; dig up a coin; sail to the New World; besiege the castle; abolish slavery; found a colony; rule
for forty years; decipher the inscription; burn the library | in the Middle Ages; in ancient Rome; during the
war | feudalism; slavery; trade; monarchy; mythology | ancient; royal; bloody; medieval; legendary
faith: priest; monk; bishop; pilgrim; nun; believer; preacher; rabbi; imam; philosopher; atheist | church;
prayer; sermon; mosque; altar; temple; holy book; soul; miracle; ritual; sin; festival; hymn | pray for peace;
light a candle; preach about mercy; fast until sunset; doubt the miracle; bless the children; kneel before the
altar; read from scripture | in church; during the festival; at the monastery | faith; God; forgiveness;
heaven; morality; free will; truth | holy; sacred; devout; moral; eternal
games: chess player; gamer; child; gambler; dealer; champion; opponent | game; puzzle; board; card; dice;
pawn; level; controller; casino; crossword; quiz; console; doll; kite; playground | roll the dice; sacrifice
the queen; shuffle the cards; reach the next level; bluff with a weak hand; solve the puzzle; lose a bet; fly
a kite; win the jackpot; move the knight; cheat at cards | at the casino; in the final round; on the
playground | luck; strategy; gambling; poker; chess | addictive; tricky; lucky; final
people outside: man; woman; boy; girl; group of people; young couple; crowd; teenager; old man; child; street
musician; cowboy; person in a red coat | bench; bicycle; skateboard; ball; horse; fountain; sidewalk; fence;
balloon; crosswalk; bus; dog; market stall; tree | ride a bicycle; sit on a bench; jump over a fence; run
across the grass; stand in the rain; hold an umbrella; look at the sky; throw a ball; push a stroller; ride a
horse; eat an ice cream; talk on the phone; cut a piece of paper; slice a potato; wave at the camera; climb a
rope; play in the snow | on the street; in front of a building; in a field; by the water | sand; grass; snow;
shade | red; empty; wet; striped; small
""")
