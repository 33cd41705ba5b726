"""French: places, medicine, days, names and words for people, in French spelling; our own selection.

Names of places that are spelled as in English stand in `places`.
"""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

COUNTRIES = listed("""
Afrique du Sud; Albanie; Algérie; Allemagne; Angleterre; Arabie saoudite; Argentine; Arménie; Australie;
Autriche; Azerbaïdjan; Belgique; Bénin; Biélorussie; Birmanie; Bolivie; Bosnie; Bosnie-Herzégovine; Brésil;
Bulgarie; Cambodge; Cameroun; Cap-Vert; Centrafrique; Chili; Chine; Chypre; Colombie; Comores;
Corée du Nord; Corée du Sud; Corée; Côte d'Ivoire; Croatie; Danemark; Écosse; Égypte; Émirats arabes unis;
Équateur; Érythrée; Espagne; Estonie; États-Unis; États-Unis d'Amérique; Éthiopie; Finlande; Gabon; Gambie;
Géorgie; Grande-Bretagne; Grèce; Guinée; Guyane; Guyane française; Haïti; Hongrie; Inde; Indonésie; Irak;
Irlande; Islande; Israël; Italie; Jamaïque; Japon; Jordanie; Kazakhstan; Koweït; Lettonie; Liban; Libye;
Lituanie; Luxembourg; Macédoine; Malaisie; Maroc; Maurice; Mauritanie; Mexique; Moldavie; Mongolie;
Monténégro; Namibie; Népal; Nigéria; Norvège; Nouvelle-Zélande; Nouvelle-Calédonie; Ouganda; Ouzbékistan;
Palestine; Papouasie-Nouvelle-Guinée; Pays-Bas; Hollande; Pérou; Pologne; Polynésie française;
République centrafricaine; République démocratique du Congo; République dominicaine; République tchèque;
Roumanie; Royaume-Uni; Russie; Salvador; Sénégal; Serbie; Singapour; Slovaquie; Slovénie; Somalie; Soudan;
Suède; Suisse; Syrie; Tanzanie; Tchad; Tchéquie; Thaïlande; Tunisie; Turquie; Ukraine; Union soviétique;
URSS; Vatican; Viêt Nam; Yémen; Yougoslavie; Zambie
""")

CITIES = listed("""
Aix-en-Provence; Ajaccio; Albi; Amiens; Angers; Annecy; Antibes; Avignon; Bastia; Bayonne; Beauvais;
Besançon; Béziers; Biarritz; Blois; Bordeaux; Boulogne-Billancourt; Bourges; Brest; Caen; Calais; Cannes;
Carcassonne; Cergy; Chambéry; Charleroi; Chartres; Châteauroux; Clermont-Ferrand; Colmar; Créteil; Dijon;
Dunkerque; Épinal; Évreux; Fort-de-France; Grenoble; La Rochelle; Laval; Le Havre; Le Mans; Lens; Lille;
Limoges; Lorient; Lyon; Mâcon; Marseille; Melun; Metz; Montauban; Montluçon; Montpellier; Montreuil;
Mulhouse; Namur; Nancy; Nanterre; Nantes; Narbonne; Neuchâtel; Nevers; Nice; Nîmes; Niort; Orléans; Pau;
Périgueux; Perpignan; Poitiers; Quimper; Reims; Rennes; Rodez; Roubaix; Rouen; Saint-Denis; Saint-Étienne;
Saint-Malo; Saint-Nazaire; Saint-Quentin; Sarcelles; Strasbourg; Tarbes; Toulon; Toulouse; Tourcoing; Tours;
Troyes; Valence; Vannes; Versailles; Villeurbanne; Vitry-sur-Seine; Alger; Abidjan; Anvers; Athènes; Bâle;
Barcelone; Berne; Bruges; Bruxelles; Bucarest; Cologne; Copenhague; Cordoue; Cracovie; Damas; Douvres;
Édimbourg; Francfort; Fribourg; Gand; Gênes; Genève; Grenade; Hambourg; Hanoï; La Haye; La Havane;
La Nouvelle-Orléans; Le Caire; Le Cap; Liège; Lisbonne; Londres; Lucerne; Luxembourg-Ville; Mayence; Mexico;
Milan; Montréal; Moscou; Mumbai; Naples; New Delhi; Nuremberg; Oran; Ostende; Ouagadougou; Padoue; Pékin;
Philadelphie; Prague; Québec; Rome; Saint-Domingue; Saint-Pétersbourg; Salonique; Saragosse; São Paulo;
Séoul; Séville; Sfax; Stockholm; Téhéran; Tokyo; Trèves; Tunis; Turin; Varsovie; Venise; Vienne; Vérone;
Yaoundé
""")

STATES = listed("""
Californie; Caroline du Nord; Caroline du Sud; Floride; Géorgie; Louisiane; Nouveau-Mexique; Pennsylvanie;
Virginie; Hawaï
""")

REGIONS = listed("""
Afrique; Alpes; Alsace; Amérique du Nord; Amérique du Sud; Andalousie; Aquitaine; Ardèche; Ardennes; Asie;
Auvergne; Auvergne-Rhône-Alpes; Bavière; Bourgogne; Bretagne; Camargue; Caraïbes; Catalogne; Corse; Crète;
Dordogne; Europe; Flandre; Franche-Comté; Gironde; Grand Est; Guadeloupe; Hauts-de-France; Hérault;
Île-de-France; La Réunion; Languedoc; Limousin; Lombardie; Lorraine; Maghreb; Martinique; Mayotte;
Méditerranée; Moyen-Orient; Normandie; Nouvelle-Aquitaine; Occitanie; Pays basque; Pays de la Loire;
Picardie; Provence; Pyrénées; Savoie; Scandinavie; Sibérie; Sicile; Toscane; Vendée; Wallonie
""")

DISEASES = listed("""
accident vasculaire cérébral; AVC; allergie; Alzheimer; maladie d'Alzheimer; anémie; angine;
angine de poitrine; anorexie; anxiété; appendicite; artériosclérose; arthrite; arthrose; arythmie; asthme;
autisme; boulimie; bronchite; bronchiolite; BPCO; calculs rénaux; calculs biliaires; cancer;
cancer de la prostate; cancer du col de l'utérus; cancer du côlon; cancer du foie; cancer du pancréas;
cancer du poumon; cancer du sein; cataracte; cirrhose; colite; coqueluche; coronavirus; cystite; démence;
dengue; dépression; dermatite; diabète; diabète de type 1; diabète de type 2; diphtérie; eczéma;
embolie pulmonaire; emphysème; encéphalite; endométriose; épilepsie; fibrillation auriculaire; fibromyalgie;
fracture; gale; gastrite; gastro-entérite; glaucome; goutte; grippe; hémophilie; hémorroïdes; hépatite;
hernie; hernie discale; herpès; hypercholestérolémie; hypertension; hypertension artérielle; hyperthyroïdie;
hypothyroïdie; infarctus; infarctus du myocarde; infection urinaire; insuffisance cardiaque;
insuffisance rénale; insuffisance respiratoire; leucémie; lymphome; maladie coeliaque; maladie de Crohn;
maladie de Lyme; maladie de Parkinson; mélanome; méningite; migraine; mononucléose; mucoviscidose; obésité;
oreillons; ostéoporose; otite; paludisme; pancréatite; péritonite; phlébite; pleurésie; pneumonie;
poliomyélite; polyarthrite; polyarthrite rhumatoïde; psoriasis; psychose; rage; rhumatisme; rhume; rougeole;
rubéole; schizophrénie; sclérose en plaques; septicémie; sida; sinusite; syphilis; tachycardie; tendinite;
tétanos; thrombose; toxicomanie; trouble bipolaire; troubles bipolaires; tuberculose; tumeur;
tumeur cérébrale; typhoïde; ulcère; ulcère gastrique; urticaire; varicelle; VIH; zona
""")

SYMPTOMS = listed("""
acouphènes; bouffées de chaleur; brûlures d'estomac; chute de cheveux; constipation; convulsions; crampes;
courbatures; crise d'angoisse; démangeaisons; diarrhée; difficultés respiratoires; douleur; douleurs;
douleur abdominale; douleurs abdominales; douleur thoracique; douleurs thoraciques; douleurs articulaires;
engourdissement; enrouement; éruption cutanée; essoufflement; étourdissements; évanouissement;
faiblesse musculaire; fatigue; fièvre; frissons; gonflement; hallucinations; insomnie; jaunisse; lombalgie;
mal de dos; mal de dents; mal de gorge; mal de tête; maux de tête; maux de ventre; nausée; nausées;
nez bouché; oedème; œdème; palpitations; perte d'appétit; perte de connaissance; perte de mémoire;
perte de poids; picotements; prise de poids; raideur; saignement; saignement de nez; somnolence; spasmes;
sueurs nocturnes; tremblements; toux; troubles de la vue; troubles du sommeil; vertige; vertiges;
vomissement; vomissements
""")

DRUGS = listed("""
acide acétylsalicylique; amoxicilline; anticoagulant; anticoagulants; antibiotique; antibiotiques;
antidépresseur; antidouleur; aspirine; atorvastatine; bisoprolol; Codoliprane; codéine; cortisone; Dafalgan;
diazépam; diclofénac; Doliprane; Efferalgan; furosémide; Gaviscon; héparine; ibuprofène; insuline; Kardégic;
Lasilix; Levothyrox; lévothyroxine; Lexomil; metformine; morphine; oméprazole; pantoprazole; paracétamol;
pénicilline; prednisone; prednisolone; Plaquenil; ramipril; salbutamol; sertraline; simvastatine; Solupred;
Spasfon; Tahor; tramadol; Ventoline; Voltarène; Xanax; warfarine; zolpidem; Stilnox
""")

WEEKDAYS = listed("lundi; mardi; mercredi; jeudi; vendredi; samedi; dimanche")
MONTHS = listed("""
janvier; février; mars; avril; mai; juin; juillet; août; septembre; octobre; novembre; décembre
""")

FIRST_NAMES = listed("""
Adrien; Agathe; Alain; Alexandre; Amandine; Amélie; Anaïs; André; Antoine; Arnaud; Aurélie; Aurore;
Baptiste; Bastien; Benoît; Bernadette; Bertrand; Brigitte; Bruno; Capucine; Cédric; Céline; Chantal;
Christelle; Christiane; Christophe; Claude; Clémence; Clément; Clothilde; Colette; Corinne; Cyril; Damien;
Delphine; Didier; Dominique; Édouard; Élise; Élodie; Éloïse; Emmanuel; Emmanuelle; Éric; Estelle; Étienne;
Fabien; Fabrice; Florent; Florian; Françoise; François; Frédéric; Gaël; Gaëlle; Geneviève; Georges; Gérard;
Ghislaine; Gilles; Grégoire; Grégory; Guillaume; Guy; Hélène; Henri; Hervé; Hubert; Inès; Isabelle; Jacques;
Jean-Baptiste; Jean-Claude; Jean-François; Jean-Luc; Jean-Marc; Jean-Michel; Jean-Paul; Jean-Pierre; Jeanne;
Jérémy; Jérôme; Joël; Joëlle; Josiane; Julien; Juliette; Justine; Karine; Laetitia; Laurence; Laurent; Léa;
Loïc; Louane; Luc; Lucie; Lucien; Ludovic; Madeleine; Manon; Marc; Marcel; Margaux; Marianne; Marie-Claude;
Marie-Thérèse; Marine; Marion; Martine; Mathieu; Mathilde; Matthieu; Maxime; Mélanie; Michèle; Mireille;
Monique; Muriel; Mylène; Nadège; Nathalie; Nicolas; Noémie; Océane; Odette; Odile; Olivier; Pascal; Pascale;
Patrice; Pauline; Philippe; Quentin; Raphaël; Régis; Rémi; Rémy; René; Renée; Romain; Sandrine; Sébastien;
Séverine; Solange; Solène; Stéphane; Stéphanie; Suzanne; Sylvain; Sylvie; Thibault; Thierry; Timothée;
Valentin; Valérie; Véronique; Victoire; Virginie; Vivienne; Xavier; Yann; Yannick; Yves; Yvette
""")

SURNAMES = listed("""
André; Arnaud; Aubert; Barbier; Baron; Benoît; Berger; Bernard; Bertrand; Besson; Blanc; Blanchard; Bonnet;
Boucher; Bourgeois; Boyer; Brun; Brunet; Caron; Charpentier; Chevalier; Clément; Colin; David; Delacroix;
Delmas; Denis; Deschamps; Dubois; Duboscq; Dufour; Dumas; Dumont; Dupond; Dupont; Dupuis; Dupuy; Durand;
Duval; Étienne; Fabre; Faure; Fleury; Fontaine; François; Gaillard; Garnier; Gauthier; Gautier; Gérard;
Giraud; Girard; Guérin; Guillaume; Guillot; Henry; Hubert; Jacquet; Joly; Lacroix; Lambert; Laurent;
Le Gall; Leclerc; Leclercq; Lecomte; Lefèvre; Lefebvre; Legrand; Lemaire; Lemoine; Leroux; Leroy; Lévêque;
Lopez; Lucas; Mallet; Marchand; Marie; Masson; Mathieu; Mercier; Meunier; Meyer; Michel; Moreau; Morel;
Morin; Moulin; Muller; Nicolas; Noël; Olivier; Perrin; Perrot; Petit; Philippe; Picard; Pichon; Poirier;
Renard; Renaud; Rey; Richard; Rivière; Robert; Robin; Roche; Roussel; Rousseau; Roux; Roy; Schmitt; Simon;
Thévenet; Thibault; Vasseur; Vidal; Vincent
""")

TITLES = listed("Monsieur; Madame; Mademoiselle; Mme; Mlle; MM.; Maître; Docteur; Professeur")
FEMALE = listed("""
femme; fille; patiente; épouse; mère; soeur; sœur; grand-mère; tante; nièce; veuve; dame; femmes; filles;
Mme; Madame; Mademoiselle; maman; cliente
""")
MALE = listed("""
homme; garçon; mari; père; fils; frère; grand-père; oncle; neveu; veuf; hommes; garçons; Monsieur; papa;
époux
""")

ORGANISATIONS = listed("""
Assemblée nationale; Assurance maladie; Banque de France; BNP; Bouygues; Caisse d'Épargne; Carrefour;
Crédit Agricole; Crédit Mutuel; Croix-Rouge; Danone; École polytechnique; EDF; Fnac; La Poste; L'Oréal;
LVMH; Michelin; Organisation mondiale de la santé; Peugeot; Pôle emploi; Saint-Gobain; Sécurité sociale;
SNCF; Société Générale; Sorbonne; Thales; Veolia
""")

# English words, names and abbreviations too: they count in French text alone.
EVERYDAY = frozenset(
    listed("""
Mâcon; Géorgie; Joël; Michèle; anticoagulant; anticoagulants; somnolence; mars; mai; rage; gale; goutte;
cancer; fracture; fatigue; constipation; convulsions; migraine; hypertension; tante; dame; fille; papa;
maman; fils; mari; mère; hommes; homme; femme; femmes; toux; angine; rhume; crampes; Angers; Tours; Nice;
Nancy; Lens; Brest; Cannes; Pau; Laval; Milan; Rome; Prague; Cologne; Valence; Vienne; Troyes; Albi; Blois;
Nevers; Niort; Alger; Oran; Mexico; Damas; Gand; Liban; Chili; Maurice; Salvador; Guinée; Argentine; Chine;
Inde; Japon; Europe; Asie; Lorraine; Corse; Provence; Martinique; Limousin; Savoie; Grenade; Berne; Bruges;
Roche; Carrefour; EDF; BNP; Thales; Fnac; Danone; Michelin; Peugeot; AVC; VIH; BPCO; sida; zona; Baron;
Berger; Blanc; Colin; David; Denis; Henry; Hubert; Joly; Lucas; Marchand; Marie; Michel; Moulin; Nicolas;
Petit; Philippe; Picard; Rey; Richard; Robert; Robin; Roy; Simon; Vincent; Lambert; Bernard; Brun; Caron;
Fontaine; Fleury; Chevalier; Bourgeois; Barbier; Mercier; Renard; Morin; Olivier; Vidal; Claude; Bruno; Guy;
Marc; Marine; Marcel; Pascal; Luc; Manon; Aurore; Florian; Valentin; Clémence; Victoire; Dominique; MM.;
Vatican; Gabon; Ukraine; Luxembourg; Palestine; hallucinations; palpitations; spasmes; URSS
""")
)
