"""Common first names and surnames of many countries, and the words that tell a person's sex."""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

FIRST_NAMES = listed("""
Aaron; Abdul; Abigail; Adam; Adriana; Agnes; Ahmed; Aisha; Akira; Alan; Albert; Alejandro; Alex; Alexander;
Alexandra; Alexei; Alfred; Ali; Alice; Alicia; Alison; Amanda; Amelia; Amina; Amir; Amy; Ana; Anastasia;
Andrea; Andreas; Andrei; Andrew; Angela; Anita; Ann; Anna; Anne; Annie; Anthony; Antonio; Arjun; Arthur;
Ashley; Audrey; Barbara; Beatrice; Benjamin; Bernard; Beth; Bethany; Betty; Bill; Bob; Boris; Brandon; Brenda;
Brian; Bruce; Caleb; Cameron; Camille; Carl; Carla; Carlos; Carmen; Carol; Caroline; Catherine; Cecilia; Chad;
Charles; Charlotte; Chen; Chloe; Chris; Christian; Christina; Christine; Christopher; Claire; Clara; Claudia;
Colin; Connor; Craig; Crystal; Cynthia; Daisy; Dan; Daniel; Daniela; Danielle; Dave; David; Dawn; Deborah;
Denise; Dennis; Derek; Diana; Diane; Diego; Dmitri; Dolores; Donald; Donna; Dorothy; Douglas; Dylan; Edith;
Edward; Eileen; Elaine; Eleanor; Elena; Elizabeth; Ella; Ellen; Emily; Emma; Enrique; Eric; Erik; Erin; Ethan;
Eugene; Eva; Evelyn; Fatima; Felix; Fernando; Fiona; Florence; Frances; Francesca; Francis; Francisco; Frank;
Fred; Frederick; Gabriel; Gary; Geoffrey; George; Gerald; Giovanni; Giulia; Gloria; Grace; Graham; Greg;
Gregory; Gustavo; Hannah; Hans; Harold; Harriet; Harry; Hassan; Heather; Hector; Heidi; Helen; Henry; Hiroshi;
Hope; Howard; Hugo; Ian; Ibrahim; Ingrid; Irene; Isaac; Isabel; Isabella; Ivan; Jack; Jackson; Jacob;
Jacqueline; Jake; James; Jan; Jane; Janet; Janice; Jason; Javier; Jean; Jeff; Jeffrey; Jennifer; Jeremy;
Jerry; Jesse; Jessica; Jill; Jim; Joan; Joe; Johan; John; Johnny; Jon; Jonathan; Jordan; Jorge; Jose; José;
Joseph; Joshua; Joyce; Juan; Juanita; Judith; Judy; Julia; Julian; Julie; Justin; Karen; Karl; Kate;
Katherine; Kathleen; Kathryn; Katie; Keith; Kelly; Kenneth; Kenji; Kevin; Khalid; Kim; Kimberly; Krishna;
Kyle; Larry; Lars; Laura; Lauren; Laurie; Leah; Leo; Leonard; Li; Liam; Lily; Linda; Lisa; Louis; Louise;
Lucas; Lucia; Lucy; Luis; Luke; Lydia; Madison; Manuel; Marcus; Margaret; Maria; María; Marie; Marilyn; Mario;
Marion; Mark; Marta; Martha; Martin; Mary; Mason; Matthew; Matthias; Max; Megan; Mei; Melanie; Melissa;
Mia; Michael; Michel; Michelle; Miguel; Mike; Mohamed; Mohammad; Mohammed; Monica; Muhammad; Nancy; Naomi;
Natalia; Natalie; Nathan; Neil; Nicholas; Nicole; Nikolai; Nina; Noah; Nora; Norman; Olga; Oliver; Olivia;
Omar; Oscar; Owen; Pablo; Pamela; Patricia; Patrick; Paul; Paula; Pedro; Peter; Philip; Phillip; Phyllis;
Pierre; Priya; Rachel; Rafael; Raj; Rajesh; Ralph; Raymond; Rebecca; Renee; Ricardo; Richard; Robert; Roberto;
Robin; Roger; Ronald; Rosa; Rose; Roy; Ruby; Russell; Ruth; Ryan; Sally; Salma; Sam; Samantha; Samuel; Sandra;
Sara; Sarah; Scott; Sean; Sebastian; Sergei; Sergio; Sharon; Shirley; Simon; Sofia; Sophia; Sophie; Stephanie;
Stephen; Steve; Steven; Stuart; Sunita; Susan; Susanne; Suzanne; Sven; Sylvia; Tamara; Tara; Teresa; Terry;
Theodore; Theresa; Thomas; Tiffany; Tim; Timothy; Todd; Tom; Tony; Tyler; Valentina; Valerie; Vanessa; Vera;
Veronica; Victor; Victoria; Vincent; Virginia; Vladimir; Walter; Wanda; Wayne; Wei; Wendy; William; Xavier;
Yasmin; Yuki; Yusuf; Yvonne; Zachary; Zoe
""")

SURNAMES = listed("""
Adams; Ahmed; Ali; Allen; Alvarez; Anderson; Andersson; Bailey; Baker; Barnes; Bauer; Becker; Bell; Bennett;
Bianchi; Brooks; Brown; Butler; Campbell; Carter; Castillo; Castro; Chavez; Chen; Chopra; Clark; Clarke;
Collins; Cook; Cooper; Cox; Cruz; Davies; Davis; Diaz; Dubois; Dupont; Edwards; Eriksson; Evans; Fernandez;
Ferrari; Fischer; Fisher; Flores; Foster; Fournier; Garcia; García; Gomez; Gonzales; Gonzalez; González; Gray;
Green; Griffin; Gupta; Gutierrez; Hall; Hamilton; Hansen; Harris; Harrison; Hassan; Hayes; Henderson;
Hernandez; Hill; Hoffmann; Howard; Hughes; Hussein; Ibrahim; Ivanov; Jackson; Jenkins; Jensen; Johansson;
Johnson; Jones; Kapoor; Kelly; Khan; Kim; King; Klein; Kowalski; Kozlov; Kumar; Lambert; Larsen; Lee;
Lefebvre; Lewis; Lindberg; Liu; Long; Lopez; López; Martin; Martinez; Martínez; Mbeki; McDonald; Mehta;
Mendoza; Meyer; Miller; Mitchell; Moore; Morales; Moreau; Moreno; Morgan; Morris; Müller; Murphy; Murray;
Myers; Nakamura; Nelson; Nguyen; Nielsen; Novak; O'Brien; O'Connor; Okafor; Olsen; Ortiz; Parker; Patel;
Patterson; Pereira; Perez; Pérez; Perry; Peterson; Petrov; Phillips; Popov; Powell; Price; Ramirez; Ramos;
Reed; Reyes; Reynolds; Ricci; Richardson; Rivera; Roberts; Robinson; Rodriguez; Rodríguez; Rogers; Rojas;
Romano; Ross; Rossi; Ruiz; Russell; Russo; Ryan; Sánchez; Sanchez; Sanders; Santos; Sato; Schmidt; Schneider;
Schulz; Scott; Sharma; Silva; Simmons; Singh; Smirnov; Smith; Stewart; Sullivan; Suzuki; Takahashi; Tanaka;
Taylor; Thomas; Thompson; Torres; Tran; Turner; Usman; Vasquez; Volkov; Wagner; Walker; Walsh; Wang; Ward;
Watanabe; Watson; Weber; White; Williams; Wilson; Wong; Wood; Wright; Yamamoto; Yang; Yilmaz; Young; Zhang;
Zhao; Zimmermann
""")

# Everyday words and places too: they count as names only where they are written with a capital.
CASED = frozenset(
    listed("""
Ali; Amber; Bailey; Baker; Barnes; Bell; Bill; Bob; Brooks; Brown; Butler; Carol; Carter; Castro; Chad;
Charlotte; Chen; Christian; Collins; Cook; Cooper; Cox; Cruz; Crystal; Daisy; Dan; Dawn; Fisher; Florence;
Foster; Frank; Gloria; Grace; Gray; Green; Griffin; Hall; Harry; Hill; Hope; Jack; Jackson; Jan; Jean; Jordan;
Kim; King; Klein; Lee; Li; Lily; Long; Mark; Martin; Mason; Max; May; Mei; Miller; Moreno; Norman; Parker;
Perry; Price; Raj; Reed; Robin; Rose; Ross; Roy; Ruby; Sally; Sam; Scott; Singh; Smith; Taylor; Todd; Tran;
Tyler; Virginia; Ward; Walker; Wayne; Wei; White; Wood; Wright; Wong; Yang; Young; Victoria; Madison; Sofia;
Sara; Luke; Paul; Thomas; Lambert; Turner; Page; Silva; Dolores; Iris; Jesse; Jon; Pat; Sue; Wang; Rosa;
Terry; Victor; Vera; Marion; Ann; Ana; Connor; Kelly; Flores; Hassan; Hector; Russell; Santos; Khan; Johnny;
Tim; Tom; Tony; Joe; Jim
""")
)

# Words that may be names in an address, and are most often something else in a sentence.
ALSO_WORDS = frozenset(
    listed("""
able; april; archer; art; august; banks; berry; best; bishop; black; bond; bush; chance; chase; cherry;
close; day; dean; drew; early; ernest; faith; field; fields; ford; fox; gene; good; grant; guy; heath; holly;
hunt; hunter; ivy; joy; june; just; justice; kitty; knight; lane; little; love; marsh; may; moon; noble;
olive; pearl; penny; pope; porter; power; ray; rich; rob; sharp; short; singer; snow; son; stone; storm;
strong; summer; swift; true; violet; walk; way; weaver; wells; west; will; winter; wise; wolf; worth
""")
)

# An address of these words alone is an office's, not a person's.
ROLES = frozenset(
    listed("""
abuse; academic; access; accommodation; account; accounting; accounts; admin; administration; administrator;
admissions; advice; agent; alert; alerts; all; alumni; announcements; app; appointments; ask; assistance;
assistant; audit; automated; backup; benefits; billing; board; book; booking; bookings; bot; branch; bugs;
business; campaign; campus; card; care; career; careers; case; cases; center; central; centre; chair; chat;
check; claim; claims; client; clients; clinic; club; college; com; comments; committee; community; company;
complaints; compliance; conference; connect; consultant; contact; contactus; contracts; coordinator;
corporate; council; course; courses; credit; customer; customercare; customers; customerservice;
customersupport; data; dean; delivery; demo; department; dept; design; desk; details; dev; developer;
developers; digital; director; dispatch; do; domain; donate; donations; editor; editorial; email; emergency;
employee; employment; engineering; enquiries; enquiry; enroll; enrollment; error; escalations; event; events;
example; exec; executive; expert; faculty; family; faq; feedback; finance; financial; first; for; foundation;
founder; fraud; front; frontdesk; fundraising; general; global; group; guest; head; health; hello; help;
helpdesk; helpline; hi; hire; hiring; home; hospital; host; hostmaster; hotel; hotline; hr; human; info;
information; inquiries; inquiry; insurance; intern; international; interns; investor; investors; invoice;
invoices; it; job; jobs; last; law; lead; leads; learning; leasing; legal; letters; library; line; list;
live; loan; loans; local; login; logistics; mail; mailbox; mailer; mailing; main; maintenance; management;
manager; marketing; me; media; medical; meeting; member; members; membership; mobile; moderator; mortgage;
my; name; national; network; new; news; newsletter; newsletters; no; nobody; noc; noreply; notice;
notification; notifications; notify; office; official; online; operations; ops; order; orders; organizer;
our; owner; parent; partner; partners; patient; patients; pay; payment; payments; payroll; people; personal;
personnel; pharmacy; phone; photo; photos; policy; portal; post; postmaster; press; principal; print;
privacy; private; production; products; program; project; projects; promo; promotions; property; purchasing;
quality; query; question; questions; quote; quotes; reception; records; recruit; recruiter; recruiting;
recruitment; referral; refund; refunds; register; registrar; registration; relations; release; rental;
rentals; reply; report; reports; request; requests; research; reservation; reservations; resources; response;
return; returns; review; reviews; risk; root; safety; sales; sample; schedule; scheduling; scholarship;
scholarships; school; secretary; secure; security; self; seminar; seminars; server; service; services;
shipping; shop; social; someone; spam; staff; standard; station; status; store; student; students; studio;
submissions; subscribe; subscription; subscriptions; suggestions; support; survey; system; systems; talent;
tax; team; teams; tech; technical; temp; test; tester; testing; the; ticket; tickets; to; trading; training;
travel; treasurer; unsubscribe; update; updates; us; user; username; users; vendor; vendors; verification;
verify; vip; volunteer; volunteers; warehouse; warranty; web; webmaster; website; welcome; wholesale; work;
workshop; www; you; your
""")
)

NAMES = tuple(dict.fromkeys(FIRST_NAMES + SURNAMES))

FEMALE = listed("""
female; woman; girl; lady; wife; mother; daughter; sister; grandmother; aunt; niece; girlfriend; widow; Mrs.;
Miss; Ms.; women; girls; ladies; females; mothers; daughters; sisters; mom; actress; waitress; madam
""")
MALE = listed("""
male; man; boy; gentleman; husband; father; son; brother; grandfather; uncle; nephew; boyfriend; widower; Mr.;
Mr.; Mr.; men; boys; gentlemen; males; fathers; sons; brothers; dad; actor; waiter; sir
""")
SEXES = tuple(zip(FEMALE, MALE, strict=True))
