"""What a clinic writes down: who came, with what, and what was to be done about it."""

from __future__ import annotations

from sfumato.records.writing import ideas

# Of every disease what the rest of a note may say of it: a complaint and a treatment.
_HINTS = """
asthma: short of breath on the stairs: a new inhaler
diabetes: always thirsty: insulin before meals
migraine: a pounding head and flickering lights: tablets for attacks
epilepsy: two seizures in a month: a higher dose at night
depression: no joy in anything: weekly talks and a mild pill
psoriasis: scaly elbows: an ointment with tar
tuberculosis: night sweats and a long cough: six months of antibiotics
hepatitis: yellow eyes: no alcohol and regular liver tests
pneumonia: fever and a wet cough: antibiotics and rest
arthritis: stiff fingers in the morning: exercises and a cream
gout: a red, burning toe: less meat and beer
anemia: pale and tired: iron tablets
leukemia: bruises without a bump: the next round of chemotherapy
melanoma: a mole that changed: a wider cut around the scar
glaucoma: blurred edges of sight: drops twice a day
osteoporosis: a back that shrinks: calcium and a bone scan
schizophrenia: voices at night: an injection once a month
alcoholism: trembling hands: a place in the evening group
hypertension: a throbbing neck: less salt and a daily tablet
influenza: aching limbs: bed rest and tea
malaria: shivering every other day: a course against parasites
measles: red spots from the face down: isolation at home
syphilis: a painless sore: a penicillin injection
gonorrhea: burning when passing water: one shot and one tablet
chlamydia: no complaints at all: tablets for both partners
lupus: a rash over the nose: less sun and a cortisone course
eczema: itching knees and wrists: a greasy cream
insomnia: awake until four: fixed bedtimes and no screens
dementia: lost on the way home: a visit by the memory team
stroke: a drooping face: speech lessons
sciatica: pain shooting down the leg: stretching and heat
appendicitis: a tender right side: an operation the same night
pancreatitis: pain through to the back: a drip and no food
endometriosis: cramps every month: a talk about surgery
scoliosis: one shoulder higher: a brace by day
narcolepsy: falling asleep at the table: planned naps
"""

HINTS = {
    disease: (complaint.strip(), treatment.strip())
    for disease, complaint, treatment in (line.split(":") for line in _HINTS.strip().splitlines())
}
DISEASES = tuple(HINTS)

OPENINGS = ideas("""
{Name}, a {age}-year-old {person} from {city}, came in on {weekday}.
    | On {weekday} we saw {name}, {age} years old, a {person} living in {city}.
{Name} of {city}, aged {age}, was seen by {clinician}.
    | {Clinician} examined a {age}-year-old {person} from {city}, {name}.
A {person} of {age} from {city} asked for an appointment: {name}.
    | {Name} ({age}), resident of {city}, booked a visit.
{Clinician} received {name}, {age}, who travelled from {city}.
    | From {city} came {name}, a {person} aged {age}, to see {clinician}.
{Name} rang the practice from {city} on {weekday}.
    | A call on {weekday} from {name} in {city}, {age} years old.
The {job} {name}, {age}, from {city}, returned after {number} weeks.
    | After {number} weeks {name} was back, a {age}-year-old {job} from {city}.
{Name} moved to {city} and registered as a new patient at {age}.
    | New on our books: {name}, {age}, since the spring in {city}.
{Relative} brought {name}, {age}, over from {city}.
    | {Name}, {age}, from {city}, was accompanied by {relative}.
""")

STATEMENTS = ideas("""
{He} has lived with {disease} for {number} years.|Known {disease} for {number} years.
{Disease} was found at the last check.|The last check showed {disease}.
The letter from the hospital confirms {disease}.|{Disease} is confirmed by the hospital.
We treat {him} for {disease}.|{He} is under treatment for {disease}.
In {his} family {disease} is common, and now {he} has it too.|Like {relative}, {he} has {disease}.
{His} {disease} is stable.|No change in the {disease}.
{His} {disease} got worse over the winter.|The {disease} has worsened since winter.
{He} was told about the {disease} by phone.|By phone {he} learned of the {disease}.
A second laboratory agreed on {disease}.|Two laboratories now say {disease}.
{He} is afraid that the {disease} will cost {him} the job.
    | Because of the {disease} {he} fears for {his} work.
""")

HINT_LINES = ideas("""
{He} complains of this: {complaint}.|Complaint: {complaint}.
We agreed on {treatment}.|The plan is {treatment}.
""")

MATTERS = ideas("""
{He} asked to move the next appointment to {weekday} because of night shifts.
    | Next visit shifted to {weekday}, as {he} works nights.
The travel insurance wants a form before the flight to the islands.
    | A form for the travel insurer is needed before {he} flies to the islands.
{His} employer needs a letter about lighter duties in the warehouse.
    | We write to the warehouse that {he} may only lift light boxes.
{He} would like a second opinion before any operation.
    | Another surgeon should look at it before anyone operates.
The pharmacy sent the wrong packet and {he} brought it back.
    | A mix-up at the pharmacy: the packet was returned.
{He} forgot the referral and will bring it on {weekday}.
    | The referral was left at home and comes on {weekday}.
The blood sample was lost and has to be drawn again.
    | Blood must be taken once more, the first tube went missing.
{He} wants to run the city marathon and asks whether that is wise.
    | Question: may {he} start in the marathon?
An interpreter will be there next time because {relative} cannot come.
    | Next time with an interpreter, as {relative} is away.
{He} cannot pay the bill at once and asks for instalments.
    | Payment in {number} instalments was arranged for the bill.
The parking permit for the disabled was applied for.
    | We signed the application for a disabled parking badge.
{He} will stay with {relative} until the stairs are rebuilt.
    | Until the stairs at home are rebuilt {relative} takes {him} in.
The school asked for a certificate, which was refused for now.|No certificate for the school yet.
{He} plans to adopt a dog and worries about hygiene.|Can {he} keep a dog at home, {he} wonders.
The scan could not be read and will be repeated in {number} days.
    | In {number} days another scan, the first was unreadable.
{He} lost weight since {he} began to cycle to work.|Cycling to the office took some kilos off.
{He} takes part in a study and signed the consent in two copies.|Consent to the study was signed twice.
Home nursing starts next {weekday} for {number} weeks.
    | A nurse will call at home from {weekday} for {number} weeks.
{He} complained about the long wait in the corridor.
    | There were angry words about waiting in the corridor.
{He} changes to another doctor because of the move.|After moving house {he} will see another doctor.
The allergy card was renewed and laminated.|A new laminated allergy card was handed over.
{He} asked that {relative} must not be told.|Nothing of this may reach {relative}.
We talked about a holiday in the mountains and the thin air.
    | Thin mountain air was discussed before the holiday.
{He} sleeps badly since the neighbours renovate.|Builders next door keep {him} awake.
Vaccination for the trip abroad was postponed.|The jab for the journey has to wait.
{He} gave up smoking with the help of a group.|With a group's help {he} no longer smokes.
The hearing test in the basement had to be cancelled.|No hearing test, the basement was flooded.
{He} asks for a copy of the whole file for a lawyer.|A lawyer wants the complete file copied.
The cast comes off on {weekday}, then exercises in water.
    | From {weekday} without a cast, then water gymnastics.
{He} starts a new job as {job} and needs a check-up.|Check-up before the new position as {job}.
""")

CLOSINGS = ideas("""
Reachable at {phone}.|Telephone {phone}.
Results go to {email}.|Write to {email}.
Next contact by {clinician}.|{Clinician} will call back.
""")
