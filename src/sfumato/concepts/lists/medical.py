"""Diseases, symptoms and drugs as patients and clinicians name them."""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

DISEASES = listed("""
abscess; acne; acquired immunodeficiency syndrome; acute kidney injury; ADHD; AIDS; alcoholism; Alzheimer's;
Alzheimer's disease; amyotrophic lateral sclerosis; anemia; anaemia; aneurysm; angina; anorexia nervosa;
anxiety disorder; aortic stenosis; appendicitis; arrhythmia; arteriosclerosis; arthritis; asthma;
atherosclerosis; atrial fibrillation; autism; bipolar disorder; bladder cancer; bladder infection;
brain tumor; brain tumour; breast cancer; bronchiolitis; bronchitis; bulimia; bursitis; cancer; carcinoma;
cardiomyopathy; carpal tunnel syndrome; cataract; cataracts; celiac disease; cellulitis; cerebral palsy;
cervical cancer; chickenpox; chlamydia; cholera; cholecystitis; chronic bronchitis; chronic kidney disease;
chronic obstructive pulmonary disease; cirrhosis; CKD; colitis; colon cancer; colorectal cancer; concussion;
congestive heart failure; conjunctivitis; COPD; coronary artery disease; coronavirus; COVID; COVID-19;
Crohn's disease; cystic fibrosis; cystitis; deep vein thrombosis; dementia; dengue; dengue fever; depression;
dermatitis; diabetes; diabetes mellitus; diphtheria; diverticulitis; Down syndrome; eczema; emphysema;
encephalitis; endocarditis; endometriosis; epilepsy; erectile dysfunction; fatty liver disease; fibromyalgia;
flu; food poisoning; fracture; gallstones; gastric ulcer; gastritis; gastroenteritis;
gastroesophageal reflux disease; GERD; glaucoma; goiter; gonorrhea; gout; Graves' disease; heart attack;
heart disease; heart failure; hemophilia; hemorrhoids; hepatitis; hepatitis A; hepatitis B; hepatitis C;
hernia; herpes; high blood pressure; high cholesterol; HIV; Hodgkin's lymphoma; HPV; Huntington's disease;
hypercholesterolemia; hyperlipidemia; hypertension; hyperthyroidism; hypothyroidism; infertility; influenza;
insomnia; irritable bowel syndrome; kidney disease; kidney failure; kidney stones; laryngitis; leprosy;
leukemia; leukaemia; liver cancer; lung cancer; lupus; Lyme disease; lymphoma; malaria; malnutrition; measles;
melanoma; meningitis; metastasis; migraine; migraines; mononucleosis; multiple myeloma; multiple sclerosis;
mumps; muscular dystrophy; myasthenia gravis; myocardial infarction; narcolepsy; nephritis; neuropathy;
obesity; obsessive-compulsive disorder; OCD; osteoarthritis; osteoporosis; otitis media; ovarian cancer;
pancreatic cancer; pancreatitis; Parkinson's; Parkinson's disease; pericarditis; peritonitis; pharyngitis;
pleurisy; pneumonia; polio; polycystic ovary syndrome; post-traumatic stress disorder; preeclampsia;
prostate cancer; psoriasis; psychosis; PTSD; pulmonary embolism; pulmonary fibrosis; rabies; renal failure;
respiratory failure; rheumatoid arthritis; rosacea; rubella; sarcoidosis; sarcoma; scabies; schizophrenia;
sciatica; scoliosis; sepsis; shingles; sickle cell anemia; sinusitis; skin cancer; sleep apnea; smallpox;
spina bifida; stomach cancer; strep throat; stroke; syphilis; tendinitis; tension pneumothorax;
testicular cancer; tetanus; thrombosis; thyroid cancer; tonsillitis; tuberculosis; type 1 diabetes;
type 2 diabetes; typhoid; ulcerative colitis; urinary tract infection; UTI; vasculitis; vertigo;
viral infection; whooping cough; Zika
""")

SYMPTOMS = listed("""
abdominal pain; ache; aches; back pain; bleeding; bloating; blurred vision; bruising; chest pain;
chest tightness; chills; coma; confusion; congestion; constipation; convulsions; cough; coughing; cramps;
dehydration; delirium; diarrhea; diarrhoea; difficulty breathing; difficulty swallowing; discomfort;
dizziness; double vision; drowsiness; dry mouth; dry skin; dysphagia; dyspnea; ear pain; edema; exhaustion;
facial pain; fainting; fatigue; fever; fevers; flank pain; flushing; frequent urination; hair loss;
hallucinations; headache; headaches; hearing loss; heart palpitations; heartburn; hives; hoarseness;
hot flashes; incontinence; indigestion; inflammation; irritability; itching; itchy eyes; jaundice; jaw pain;
joint pain; joint stiffness; knee pain; leg pain; lethargy; light sensitivity; lightheadedness;
loss of appetite; loss of balance; loss of consciousness; loss of smell; loss of taste; low back pain;
malaise; memory loss; mood swings; muscle aches; muscle cramps; muscle pain; muscle weakness;
nasal congestion; nausea; neck pain; night sweats; nosebleed; nosebleeds; numbness; palpitations;
panic attack; panic attacks; paralysis; pelvic pain; rash; redness; ringing in the ears; runny nose; seizure;
seizures; shivering; shortness of breath; shoulder pain; skin rash; sleeplessness; slurred speech; sneezing;
sore throat; soreness; spasms; stiff neck; stiffness; stomach ache; stomach cramps; stomach pain; stuffy nose;
sweating; swelling; swollen ankles; swollen glands; swollen joints; syncope; tenderness; tingling; tinnitus;
toothache; tremor; tremors; trouble sleeping; vision loss; vomiting; weakness; weight gain; weight loss;
wheezing
""")

DRUGS = listed("""
Abilify; acetaminophen; acyclovir; Adderall; Advair; Advil; albuterol; alendronate; Allegra; allopurinol;
alprazolam; Ambien; amiodarone; amitriptyline; amlodipine; amoxicillin; ampicillin; aspirin; atenolol; Ativan;
atorvastatin; Augmentin; azathioprine; azithromycin; baclofen; Benadryl; benazepril; bevacizumab; bisoprolol;
budesonide; bupropion; buspirone; captopril; carbamazepine; carvedilol; Celebrex; celecoxib; cephalexin;
cetirizine; ciprofloxacin; cisplatin; citalopram; Claritin; clarithromycin; clindamycin; clonazepam;
clonidine; clopidogrel; codeine; colchicine; cortisone; Coumadin; Crestor; cyclobenzaprine; cyclophosphamide;
cyclosporine; Cymbalta; dexamethasone; diazepam; diclofenac; digoxin; diltiazem; diphenhydramine; donepezil;
doxorubicin; doxycycline; duloxetine; Effexor; Eliquis; enalapril; enoxaparin; epinephrine; erythromycin;
escitalopram; esomeprazole; estradiol; famotidine; fentanyl; finasteride; Flonase; fluconazole; fluoxetine;
fluticasone; folic acid; furosemide; gabapentin; glimepiride; glipizide; glyburide; haloperidol; heparin;
Humira; hydralazine; hydrochlorothiazide; hydrocodone; hydrocortisone; hydroxychloroquine; ibuprofen; insulin;
isotretinoin; ivermectin; Januvia; ketamine; ketoconazole; Klonopin; lamotrigine; lansoprazole; Lantus; Lasix;
letrozole; levetiracetam; levofloxacin; levothyroxine; Lexapro; lidocaine; Lipitor; lisinopril; lithium;
loperamide; loratadine; lorazepam; losartan; lovastatin; Lyrica; meloxicam; memantine; metformin; methadone;
methotrexate; methylphenidate; methylprednisolone; metoclopramide; metoprolol; metronidazole; mirtazapine;
montelukast; morphine; Motrin; naloxone; naproxen; Neurontin; Nexium; nifedipine; nitrofurantoin;
nitroglycerin; Norvasc; nortriptyline; olanzapine; omeprazole; ondansetron; oseltamivir; oxycodone; OxyContin;
Ozempic; paclitaxel; pantoprazole; paracetamol; paroxetine; Paxil; penicillin; Percocet; phenobarbital;
phenytoin; pioglitazone; Plavix; pravastatin; prednisolone; prednisone; pregabalin; Prilosec; propranolol;
Prozac; pseudoephedrine; quetiapine; quinine; ramipril; ranitidine; remdesivir; risperidone; Ritalin;
rituximab; rivaroxaban; rosuvastatin; salbutamol; Seroquel; sertraline; sildenafil; simvastatin; Singulair;
sitagliptin; spironolactone; statin; sumatriptan; Synthroid; tamoxifen; tamsulosin; temazepam; terbinafine;
testosterone; tetracycline; topiramate; tramadol; trastuzumab; trazodone; Tylenol; Valium; valproate;
vancomycin; venlafaxine; verapamil; Viagra; Vicodin; warfarin; Wellbutrin; Xanax; Xarelto; Zantac; Zestril;
Zithromax; Zocor; Zofran; Zoloft; zolpidem; Zyprexa; Zyrtec
""")

# Ordinary words when written small.
CASED = frozenset(listed("AIDS; Advair; CKD; HPV; OCD; UTI"))
