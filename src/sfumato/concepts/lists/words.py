"""Common English words, as far as they stand at the start of sentences and in headings: they are no names."""

from __future__ import annotations

COMMON = frozenset(
    """
a about above according across act acting action actually added adding additionally after afternoon
afterwards again against age ago agree agreed ahead air all allow allowed almost alone along already also
alternatively although always am amid among amount an analyst analysts and angry annual another answer any
anybody anyone anything apart apparently appeal april are area army around art as aside ask asked asking at
attack attacks august author authorities available away baby back bad bag bags ball band bank bankers banks
base based basic be bear because become been before behind being below beside besides best better between
beyond big bill bird birds black blood blue board boat body bond bonds book books both box boy boys break
bring brown budget build building business but buy buyers buying by ca call called calls can cannot car cars
case cases cash cat cause central chairman chance change changes check chief child children church cities
city class clean clear clearly close closing club coach coal cold comes coming comment committee common
companies company compared concern concerns conditions considering copper corn correction cost costs cotton
could council countries country court crude cup currency current currently cut daily data date day days dead
deal dealers deals death debt december deep defending demand department described despite details did died
diesel different dinner director do doctor doctors does dog dogs dollar domestic done door double down drink
drive driver drivers during each earlier early earnings east eat economic economists economy education
efforts eight eighth either election eleven else employees end ending energy engineers english enough equity
especially estimated even evening events ever every everybody everyone everything everywhere exactly example
except exchange expected experts explain export exports eyes face fact failing fair families family fans far
farm farmers fast father february federal few fewer fifteen fifth fifty fight figures film final finally
finance financial find fire first five flat following food football for force forces foreign forest former
forty forward found four fourth free fresh friday friend friends from fruit fuel full fund funds further
futures game games garden gas general get getting girl girls give given go goals going gold good got
government grain grand great green ground group groups growth gulf guy had half hand happy hard has have
having he head health hearing heart help her here hers herself high higher him himself his history hold home
hospital hot hour hours house housing how however human hundred hundreds husband i ice if important imports
improved in inc including income indeed independent index indicators industrial industry inflation
information initial inside instead insurance interest international into investment investors is issue
issues it items its itself january job jobs join judge july june just keep key kid kids kind king know known
lack lady land language large last late later law lawyers lead leader leaders leading league learn least
leave left less let letter letters level levels life light like line list little live local long look
looking lord losses lost lots love low lower lunch made main major make making man manager many march market
markets match matches may maybe me mean meanwhile meat media meeting member members men mid middle might
miles military milk million millions minister ministers minutes miss monday money month months more moreover
morning most mother mountain move much music must my name names nation national nearby nearly need neither
net never nevertheless new news newspapers next nice night nine no nobody none nor normally north not note
nothing november now number numbers october of off offer offers office officer officers official officials
often oh oil ok old older on once one ones only onto open opening opposition options or orders other others
otherwise our out outside over overall own owner page paper parents park part participants parties partly
parts party past patient patients pay people per percent perhaps period person petrol phone photo pilots
place places plan plans play played player players please police policy political polls poor population port
positive possible pound power presently president press previous previously price prices prime prior private
probably problem problems production profit profits programme project property provided public put quality
quarter queen question questions quick quite quoted race rain rally rates rather read ready real really
rebels recent recently red region regional related relations reporters reports republic research researchers
residents rest result results retail return revenue rice right river road room round rules running safety
said sale sales same saturday say saying says school science scientists score scores second secretary
security see seen select sell sellers selling senior september series serious service services set seven
seventh several sex shall share shareholders shares she ship ships short should show side silver similarly
simple since sir sister sit six sixth sixty small snow so social soldiers some somebody someone something
sometimes somewhat son soon sorry sources south special spokesman sports spot spring staff standing
standings star start state states station steel still stock stocks stop stores story street strong student
students studies study such sugar summary summer sun sunday supply support supporters sure surely take taken
taking talks tax teachers team teams tell ten tens term test than thank thanks that the their theirs them
themselves then there thereafter therefore these they thing things think third thirty this those though
thousands three through throughout thursday thus ticket time times tin title to today together tomorrow
tonight too top total touch tour town track trade traders trading traffic train training travel treasury
trial troops true try tuesday turn turning twelve twenty two type uncle under union unions united university
unknown unless unlike until up upon us use used user users using usually value various very victims video
villagers visit volume vs wait walking wall want war was watch water way we weather wednesday week weekend
weekly weeks well went were west what whatever wheat when whenever where whereas wherever whether which
while white who whoever whole whose why wide wife will win wind wine winner winners winter with within
without witnesses wo woman women won wonderful word words work workers working world would write writers
wrong year years yen yes yesterday yet you young your yours yourself
""".split()
)
"""In lower case."""

ENDINGS = tuple("ing ed ly tion tions sion ment ments ness ity ities ism ists able ful".split())
"""Words that end so are rarely names where they begin a sentence."""
