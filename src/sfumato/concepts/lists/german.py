"""German: places, medicine, days, names and words for people, in German spelling; our own selection.

Names of places that are spelled as in English stand in `places`.
"""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

COUNTRIES = listed("""
Ägypten; Albanien; Algerien; Argentinien; Armenien; Aserbaidschan; Äthiopien; Australien; Bangladesch;
Belgien; Bolivien; Bosnien; Bosnien-Herzegowina; Bosnien und Herzegowina; Brasilien; Bulgarien; Deutschland;
Bundesrepublik Deutschland; Bundesrepublik; DDR; Dänemark; Dominikanische Republik; Elfenbeinküste; England;
Estland; Finnland; Frankreich; Georgien; Griechenland; Grönland; Großbritannien; Indien; Indonesien; Irak;
Irland; Island; Italien; Jamaika; Japan; Jemen; Jordanien; Jugoslawien; Kambodscha; Kamerun; Kanada;
Kasachstan; Katar; Kenia; Kirgisistan; Kolumbien; Kongo; Kroatien; Kuba; Lettland; Libanon; Libyen; Litauen;
Luxemburg; Madagaskar; Marokko; Mauretanien; Mazedonien; Nordmazedonien; Mexiko; Moldawien; Mongolei;
Mosambik; Neuseeland; Niederlande; Nordkorea; Norwegen; Österreich; Palästina; Philippinen; Polen; Ruanda;
Rumänien; Russland; Sambia; Saudi-Arabien; Schottland; Schweden; Schweiz; Serbien; Simbabwe; Singapur;
Slowakei; Slowenien; Sowjetunion; Spanien; Südafrika; Sudan; Südkorea; Syrien; Tadschikistan; Taiwan;
Tansania; Tschad; Tschechien; Tschechische Republik; Tunesien; Türkei; Turkmenistan; Ungarn; Usbekistan;
Vatikan; Vereinigte Arabische Emirate; Vereinigte Staaten; Vereinigte Staaten von Amerika;
Vereinigtes Königreich; Weißrussland; Zypern
""")

CITIES = listed("""
Aachen; Augsburg; Bamberg; Bayreuth; Bielefeld; Bochum; Bonn; Bottrop; Braunschweig; Bremen; Bremerhaven;
Chemnitz; Cottbus; Darmstadt; Dortmund; Dresden; Duisburg; Düsseldorf; Erfurt; Erlangen; Esslingen;
Flensburg; Frankfurt; Frankfurt am Main; Freiburg; Freiburg im Breisgau; Fürth; Gelsenkirchen; Gera; Gießen;
Göttingen; Hagen; Halle an der Saale; Hamburg; Hamm; Hannover; Heidelberg; Heilbronn; Herne; Hildesheim;
Ingolstadt; Innsbruck; Jena; Kaiserslautern; Karlsruhe; Kassel; Kiel; Klagenfurt; Koblenz; Köln; Konstanz;
Krefeld; Landshut; Leipzig; Leverkusen; Linz; Ludwigsburg; Ludwigshafen; Lübeck; Lüneburg; Luzern;
Magdeburg; Mainz; Mannheim; Marburg; Mönchengladbach; München; Münster; Neuss; Nürnberg; Oberhausen;
Offenbach; Oldenburg; Osnabrück; Paderborn; Passau; Pforzheim; Potsdam; Ratingen; Ravensburg;
Recklinghausen; Regensburg; Remscheid; Reutlingen; Rosenheim; Rostock; Saarbrücken; Salzgitter; Schwerin;
Siegen; Solingen; Sankt Gallen; St. Gallen; Stuttgart; Trier; Tübingen; Ulm; Villach; Weimar; Wels; Wien;
Wiesbaden; Winterthur; Wolfsburg; Wuppertal; Würzburg; Zürich; Zwickau; Basel; Bern; Biel; Genf; Graz;
Lausanne; Athen; Belgrad; Breslau; Brügge; Brüssel; Bukarest; Danzig; Den Haag; Florenz; Havanna; Jerewan;
Kairo; Kapstadt; Kiew; Königsberg; Kopenhagen; Krakau; Laibach; Lissabon; Lüttich; Mailand; Moskau; Neapel;
Nizza; Peking; Posen; Prag; Pressburg; Rom; Sankt Petersburg; Sevilla; Stettin; Straßburg; Teheran; Tokio;
Tripolis; Turin; Venedig; Warschau; Wladiwostok
""")

STATES = listed("""
Baden-Württemberg; Bayern; Brandenburg; Hessen; Mecklenburg-Vorpommern; Niedersachsen; Nordrhein-Westfalen;
Rheinland-Pfalz; Saarland; Sachsen; Sachsen-Anhalt; Schleswig-Holstein; Thüringen; Burgenland; Kärnten;
Niederösterreich; Oberösterreich; Steiermark; Tirol; Vorarlberg; Aargau; Graubünden; Tessin; Wallis;
Kalifornien
""")

REGIONS = listed("""
Afrika; Allgäu; Asien; Balkan; Bretagne; Elsass; Europa; Franken; Harz; Kaukasus; Korsika; Lappland;
Lateinamerika; Mitteleuropa; Mittelmeer; Naher Osten; Nordamerika; Normandie; Nordsee; Osteuropa;
Ostfriesland; Ostsee; Ruhrgebiet; Schlesien; Schwaben; Schwarzwald; Sibirien; Sizilien; Skandinavien;
Südamerika; Südtirol; Toskana; Westfalen
""")

DISEASES = listed("""
Adipositas; Allergie; Alzheimer-Krankheit; Anämie; Angststörung; Aortenstenose; Arteriosklerose; Arthritis;
Arthrose; Asthma; Asthma bronchiale; Bandscheibenvorfall; Bauchspeicheldrüsenkrebs; Blasenentzündung;
Blinddarmentzündung; Blutarmut; Bluthochdruck; Blutvergiftung; Borreliose; Brustkrebs; Bronchitis;
Darmkrebs; Demenz; Depression; Depressionen; Diabetes; Diabetes mellitus; Durchblutungsstörung;
Eierstockkrebs; Endometriose; Epilepsie; Erkältung; Essstörung; Fettleber; Gallensteine; Gastritis;
Gebärmutterhalskrebs; Gehirnerschütterung; Gehirntumor; Gelbsucht; Gicht; Glaukom; Grippe; Gürtelrose;
Halsentzündung; Hämorrhoiden; Harnwegsinfekt; Hautkrebs; Hepatitis; Herzinfarkt; Herzinsuffizienz;
Herzkrankheit; Herzrhythmusstörung; Herzrhythmusstörungen; Hirnhautentzündung; Hirntumor; Hodenkrebs;
Hypertonie; Hypertonus; Hypothyreose; Ischias; Karies; Karpaltunnelsyndrom; Keuchhusten; Knochenbruch;
koronare Herzkrankheit; Krampfadern; Krebs; Krebserkrankung; Leberkrebs; Leberzirrhose; Leistenbruch;
Leukämie; Lungenembolie; Lungenentzündung; Lungenkrebs; Lymphom; Magengeschwür; Magenkrebs; Magersucht;
Malaria; Mandelentzündung; Masern; Meningitis; Migräne; Mittelohrentzündung; Morbus Crohn; Morbus Parkinson;
Multiple Sklerose; Mumps; Nebenhöhlenentzündung; Neurodermitis; Niereninsuffizienz; Nierensteine;
Nierenversagen; Osteoporose; Pankreatitis; Parkinson; Parkinson-Krankheit; Pneumonie; Prostatakrebs;
Psoriasis; Psychose; Reizdarm; Rheuma; rheumatoide Arthritis; Röteln; Scharlach; Schilddrüsenunterfunktion;
Schilddrüsenüberfunktion; Schizophrenie; Schlafapnoe; Schlaganfall; Schuppenflechte; Schwindelanfall;
Sepsis; Syphilis; Thrombose; Tollwut; Tuberkulose; Typ-2-Diabetes; Vorhofflimmern; Windpocken;
Wundstarrkrampf; Zöliakie; Zuckerkrankheit; Zwangsstörung
""")

SYMPTOMS = listed("""
Appetitlosigkeit; Atemnot; Atembeschwerden; Ausschlag; Hautausschlag; Bauchschmerzen; Bewusstlosigkeit;
Blähungen; Brustschmerz; Brustschmerzen; Durchfall; Erbrechen; Erschöpfung; Fieber; Gelenkschmerzen;
Gewichtsverlust; Gewichtszunahme; Gliederschmerzen; Haarausfall; Halsschmerzen; Heiserkeit; Herzrasen;
Herzklopfen; Husten; Juckreiz; Knieschmerzen; Kopfschmerz; Kopfschmerzen; Krampfanfall; Kribbeln;
Kurzatmigkeit; Magenschmerzen; Müdigkeit; Muskelschmerzen; Muskelschwäche; Nachtschweiß; Nackenschmerzen;
Nasenbluten; Ödeme; Ohnmacht; Ohrenschmerzen; Panikattacke; Panikattacken; Rückenschmerzen; Schlaflosigkeit;
Schlafstörungen; Schmerz; Schmerzen; Schnupfen; Schüttelfrost; Schwellung; Schwindel; Schwitzen;
Sehstörungen; Sodbrennen; Taubheitsgefühl; Tinnitus; Übelkeit; Verstopfung; Verwirrtheit; Zahnschmerzen;
Zittern
""")

DRUGS = listed("""
Acetylsalicylsäure; Aspirin; Paracetamol; Ibuprofen; Diclofenac; Voltaren; Novalgin; Metamizol; Pantoprazol;
Omeprazol; Ramipril; Bisoprolol; Metoprolol; Metformin; Simvastatin; Atorvastatin; Amlodipin; Torasemid;
Furosemid; Marcumar; Eliquis; Xarelto; L-Thyroxin; Levothyroxin; Insulin; Kortison; Cortison; Prednisolon;
Amoxicillin; Penicillin; Doxycyclin; Tilidin; Tramadol; Morphin; Diazepam; Lorazepam; Tavor; Citalopram;
Sertralin; Mirtazapin; Quetiapin; Salbutamol; Candesartan; Allopurinol; Hydrochlorothiazid; Heparin;
Clopidogrel; Antibiotikum; Antibiotika; Blutverdünner; Schmerzmittel; Betablocker; Cholesterinsenker
""")

WEEKDAYS = listed("Montag; Dienstag; Mittwoch; Donnerstag; Freitag; Samstag; Sonnabend; Sonntag")
MONTHS = listed("""
Januar; Jänner; Februar; März; April; Mai; Juni; Juli; August; September; Oktober; November; Dezember
""")

FIRST_NAMES = listed("""
Anja; Anke; Annette; Annika; Antje; Astrid; Axel; Bärbel; Bastian; Bernd; Bernhard; Birgit; Björn; Brigitte;
Britta; Carsten; Christoph; Claus; Cornelia; Detlef; Dieter; Dietmar; Dirk; Dörte; Eberhard; Edeltraud;
Elke; Emil; Ernst; Felix; Finn; Florian; Franz; Franziska; Frieda; Friedrich; Fritz; Gabriele; Gerd;
Gerhard; Gertrud; Gisela; Gottfried; Günter; Günther; Hannelore; Hartmut; Heike; Heiko; Heinrich; Heinz;
Helga; Helmut; Herbert; Hermann; Hildegard; Holger; Horst; Ilse; Ina; Inge; Ingo; Irmgard; Jana; Jannik;
Jens; Joachim; Jochen; Johann; Johanna; Johannes; Jonas; Josef; Jörg; Jürgen; Jutta; Karin; Karsten;
Katharina; Katja; Katrin; Kathrin; Kerstin; Klaus; Konrad; Kurt; Lena; Leonie; Lieselotte; Lothar; Ludwig;
Lukas; Lutz; Magdalena; Maike; Manfred; Manuela; Marlene; Mareike; Markus; Marlies; Martina; Michaela;
Monika; Moritz; Nadine; Niklas; Norbert; Otto; Petra; Rainer; Ralf; Reiner; Reinhard; Renate; Rolf;
Rosemarie; Rüdiger; Rudolf; Sabine; Sabrina; Siegfried; Sigrid; Silke; Silvia; Sonja; Stefan; Stefanie;
Steffen; Svenja; Swen; Tanja; Thorsten; Tobias; Torsten; Udo; Ulrich; Ulrike; Ursula; Ute; Uwe; Volker;
Waltraud; Werner; Wilhelm; Winfried; Wolfgang; Yannick
""")

SURNAMES = listed("""
Albrecht; Arnold; Bachmann; Baumann; Beckmann; Bergmann; Böhm; Brandt; Busch; Dietrich; Eberhardt; Ebert;
Engelhardt; Fiedler; Friedrich; Fuchs; Gerlach; Grabowski; Graf; Grimm; Günther; Haas; Hahn; Hartmann;
Heinrich; Heinze; Hermann; Herrmann; Hofmann; Horn; Huber; Jahn; Jansen; Jürgens; Kaiser; Kaufmann; Keller;
Kirchner; Köhler; König; Krämer; Kraus; Krause; Krüger; Kruse; Kühn; Lehmann; Lindemann; Lorenz; Ludwig;
Maier; Mayer; Meier; Möller; Müller; Naumann; Neumann; Nowak; Obermeier; Otto; Peters; Petersen; Pfeiffer;
Pohl; Reinhardt; Riedel; Röder; Sauer; Scherer; Schäfer; Schlegel; Schmid; Schmitt; Schmitz; Scholz;
Schreiber; Schröder; Schubert; Schulte; Schultz; Schulze; Schumacher; Schuster; Schwarz; Seidel; Simon;
Sommerfeld; Stein; Steinmann; Thiele; Ullrich; Vogel; Vogt; Voigt; Voß; Walther; Weidner; Weiß; Werner;
Wiegand; Winkler; Wittmann; Wolff; Zander; Ziegler; Zimmermann
""")

TITLES = listed("Herr; Herrn; Frau; Fräulein; Dr. med.")
FEMALE = listed("""
Frau; Mädchen; Patientin; Ehefrau; Mutter; Tochter; Schwester; Großmutter; Oma; Tante; Nichte; Freundin;
Witwe; Dame; Frauen; Töchter; weiblich; Ärztin; Lehrerin; Kundin
""")
MALE = listed("""
Herr; Herrn; Junge; Ehemann; Vater; Sohn; Bruder; Großvater; Opa; Onkel; Neffe; Witwer; Mann; Männer; Söhne;
männlich
""")

ORGANISATIONS = listed("""
Aldi; Allianz; AOK; Barmer; Bayerische Motoren Werke; Bundesbank; Bundeskriminalamt; Bundesregierung;
Bundestag; Bundeswehr; Charité; Commerzbank; Deutsche Bahn; Deutsche Post; Deutsche Telekom; Edeka;
Finanzamt; Fraunhofer-Gesellschaft; Karstadt; Krankenkasse; Lidl; Max-Planck-Gesellschaft; Rotes Kreuz;
Sparkasse; Techniker Krankenkasse; Volksbank
""")

# English words, names and abbreviations too: they count in German text alone.
EVERYDAY = frozenset(
    listed("""
Gerd; Parkinson; August; April; September; November; Mai; Juni; Juli; Bonn; Essen; Halle; Hamm; Hagen; Gera;
Jena; Ulm; Wels; Rom; Bern; Linz; Biel; Posen; Island; Mann; Tag; Vater; Mutter; Dame; Junge; Oma; Opa;
Harz; Arnold; Otto; Stein; Horn; Graf; Kaiser; Keller; Simon; Peters; Ludwig; Vogel; Sauer; Haas; Hahn;
Lorenz; Kraus; Weiß; Schwarz; Brandt; Fuchs; Busch; Finn; Emil; Ina; Lena; Ute; Udo; Kurt; Ernst; Grimm;
Schuster; Balkan; DDR; Wallis; Turin; Franken; Krebs; Bundesrepublik; Herne; Siegen; Trier; Kiel; Mainz;
Neuss; Aldi; Lidl; Frau; Herr
""")
)
