"""Spanish: places, medicine, days, names and words for people, in Spanish spelling; our own selection.

Names of places that are spelled as in English stand in `places`.
"""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

COUNTRIES = listed("""
Afganistán; Albania; Alemania; Arabia Saudita; Arabia Saudí; Argelia; Argentina; Armenia; Azerbaiyán;
Bahréin; Bélgica; Belice; Bielorrusia; Bolivia; Bosnia; Bosnia y Herzegovina; Brasil; Camboya; Camerún;
Canadá; Catar; Chequia; Chipre; Colombia; Corea del Norte; Corea del Sur; Corea; Costa de Marfil; Croacia;
Dinamarca; Ecuador; Egipto; El Salvador; Emiratos Árabes Unidos; Escocia; Eslovaquia; Eslovenia; España;
Estados Unidos; Estados Unidos de América; EE. UU.; EE.UU.; EEUU; Estonia; Etiopía; Filipinas; Finlandia;
Francia; Gabón; Gales; Gran Bretaña; Grecia; Guinea Ecuatorial; Haití; Holanda; Hungría; Inglaterra; Irak;
Irán; Irlanda; Islandia; Italia; Japón; Jordania; Kazajistán; Kenia; Kuwait; Letonia; Líbano; Libia;
Lituania; Luxemburgo; Macedonia; Malasia; Malí; Marruecos; México; Moldavia; Mongolia; Nepal; Noruega;
Nueva Zelanda; Países Bajos; Pakistán; Palestina; Panamá; Paraguay; Perú; Polonia; Portugal; Puerto Rico;
Reino Unido; República Checa; República Dominicana; Ruanda; Rumanía; Rumania; Rusia; Singapur; Siria;
Sudáfrica; Sudán; Suecia; Suiza; Tailandia; Taiwán; Túnez; Turquía; Ucrania; Unión Soviética; Uruguay;
Uzbekistán; Venezuela; Vietnam; Yugoslavia; Zimbabue
""")

CITIES = listed("""
A Coruña; La Coruña; Albacete; Alcalá de Henares; Algeciras; Alicante; Almería; Ávila; Badajoz; Badalona;
Bilbao; Burgos; Cáceres; Cádiz; Cartagena; Castellón; Ceuta; Ciudad Real; Córdoba; Cuenca; Elche; Gerona;
Getafe; Gijón; Girona; Granada; Guadalajara; Huelva; Huesca; Jaén; Jerez de la Frontera; Las Palmas;
Leganés; León; Lérida; Lleida; Logroño; Lugo; Madrid; Málaga; Marbella; Melilla; Mérida; Móstoles; Murcia;
Ourense; Orense; Oviedo; Palencia; Palma de Mallorca; Pamplona; Pontevedra; Sabadell; Salamanca;
San Sebastián; Santander; Santiago de Compostela; Segovia; Sevilla; Soria; Tarragona; Tarrasa; Terrassa;
Teruel; Toledo; Valladolid; Vigo; Vitoria; Zamora; Zaragoza; Acapulco; Aguascalientes; Antofagasta;
Arequipa; Asunción; Barranquilla; Bogotá; Bucaramanga; Buenos Aires; Cali; Cancún; Caracas; Chihuahua;
Ciudad de México; Ciudad Juárez; Cochabamba; Concepción; Cusco; Cúcuta; Culiacán; Guayaquil; Hermosillo;
La Habana; La Paz; La Plata; Managua; Mar del Plata; Maracaibo; Medellín; Mendoza; Mexicali; Monterrey;
Montevideo; Morelia; Oaxaca; Puebla; Querétaro; Quito; Rosario; Saltillo; San Luis Potosí;
Santa Cruz de la Sierra; Santiago de Chile; Tegucigalpa; Tijuana; Torreón; Trujillo; Valparaíso; Veracruz;
Zapopan; Torremolinos; Amberes; Ámsterdam; Argel; Atenas; Aviñón; Basilea; Belgrado; Berlín; Berna; Bolonia;
Brujas; Bruselas; Bucarest; Budapest; Burdeos; Cantón; Ciudad del Cabo; Colonia; Copenhague; Cracovia;
Damasco; Dublín; Dresde; Edimburgo; El Cairo; Estambul; Estocolmo; Estrasburgo; Filadelfia; Florencia;
Fráncfort; Friburgo; Génova; Ginebra; Hamburgo; Jerusalén; Kiev; La Haya; Lieja; Lisboa; Liubliana; Londres;
Lovaina; Marsella; Milán; Moscú; Múnich; Nápoles; Niza; Nueva Delhi; Nueva Orleans; Nueva York; Núremberg;
Oporto; Padua; París; Pekín; Praga; Roma; San Petersburgo; Seúl; Sídney; Shanghái; Tánger; Teherán; Tokio;
Tolosa; Turín; Varsovia; Venecia; Viena; Zúrich
""")

STATES = listed("""
Carolina del Norte; Carolina del Sur; Dakota del Norte; Dakota del Sur; Luisiana; Misisipi; Nueva Jersey;
Nuevo México; Oregón; Pensilvania; Tejas; Texas; Virginia Occidental
""")

REGIONS = listed("""
África; América del Norte; América del Sur; América Latina; Andalucía; Aragón; Asturias; Baleares;
Islas Baleares; Islas Canarias; Canarias; Cantabria; Castilla; Castilla-La Mancha; Castilla y León;
Cataluña; Centroamérica; Cerdeña; Comunidad Valenciana; Córcega; Costa Brava; Europa; Euskadi; Extremadura;
Galicia; Ibiza; La Rioja; Latinoamérica; Mallorca; Mediterráneo; Menorca; Navarra; Normandía; Oriente Medio;
País Vasco; Patagonia; Pirineos; Sicilia; Sudamérica; Tenerife; Toscana; Baviera; Bretaña; Escandinavia;
Jalisco; Michoacán; Nuevo León; Quintana Roo; Sinaloa; Sonora; Tamaulipas; Yucatán
""")

DISEASES = listed("""
accidente cerebrovascular; alergia; Alzheimer; enfermedad de Alzheimer; anemia; angina de pecho; anorexia;
ansiedad; apendicitis; arritmia; arterioesclerosis; arteriosclerosis; artritis; artritis reumatoide;
artrosis; asma; autismo; bronquitis; bulimia; cálculos renales; cáncer; cáncer de colon; cáncer de hígado;
cáncer de mama; cáncer de páncreas; cáncer de piel; cáncer de próstata; cáncer de pulmón;
cáncer de cuello uterino; cataratas; celiaquía; ciática; cirrosis; cistitis; colesterol alto; cólera;
colitis; conjuntivitis; demencia; dengue; depresión; dermatitis; derrame cerebral; diabetes;
diabetes mellitus; diabetes tipo 1; diabetes tipo 2; difteria; eccema; embolia pulmonar; endometriosis;
enfermedad de Crohn; enfermedad de Parkinson; enfisema; EPOC; epilepsia; esclerosis múltiple; esquizofrenia;
estreñimiento crónico; fibrilación auricular; fibromialgia; fractura; gastritis; gastroenteritis; glaucoma;
gonorrea; gota; gripe; hemofilia; hemorroides; hepatitis; hernia; hernia discal; herpes; hipertensión;
hipertensión arterial; hipertiroidismo; hipotiroidismo; ictus; infarto; infarto de miocardio;
infección urinaria; insuficiencia cardíaca; insuficiencia cardiaca; insuficiencia renal;
insuficiencia respiratoria; leucemia; linfoma; lupus; malaria; paludismo; melanoma; meningitis; migraña;
mononucleosis; neumonía; obesidad; osteoporosis; otitis; pancreatitis; paperas; párkinson; peritonitis;
pleuresía; poliomielitis; psicosis; psoriasis; rabia; resfriado; reumatismo; rubéola; sarampión; sarna;
sepsis; sida; sífilis; sinusitis; tendinitis; tétanos; tos ferina; trastorno bipolar; trombosis;
tuberculosis; tumor; tumor cerebral; úlcera; úlcera gástrica; varicela; várices; viruela; VIH
""")

SYMPTOMS = listed("""
acidez; agotamiento; ardor de estómago; ataque de pánico; cansancio; cefalea; calambres; confusión;
congestión nasal; convulsiones; debilidad; desmayo; diarrea; dificultad para respirar; disnea; dolor;
dolor abdominal; dolor articular; dolor de cabeza; dolor de espalda; dolor de estómago; dolor de garganta;
dolor de muelas; dolor de pecho; dolor en el pecho; dolor torácico; dolor muscular; dolores; edema;
entumecimiento; erupción cutánea; escalofríos; estreñimiento; falta de aire; fatiga; fiebre;
hemorragia nasal; hinchazón; hormigueo; ictericia; insomnio; mareo; mareos; náusea; náuseas; palpitaciones;
pérdida de apetito; pérdida de conocimiento; pérdida de memoria; pérdida de peso; picazón; rigidez;
ronquera; sangrado; somnolencia; sudoración; sudores nocturnos; temblor; temblores; tos; vértigo;
visión borrosa; vómito; vómitos; zumbido de oídos
""")

DRUGS = listed("""
ácido acetilsalicílico; alprazolam; amlodipino; amoxicilina; analgésico; antibiótico; antibióticos;
anticoagulante; antidepresivo; aspirina; atorvastatina; azitromicina; bisoprolol; citalopram; clopidogrel;
codeína; cortisona; dexametasona; diazepam; diclofenaco; enalapril; escitalopram; fluoxetina; furosemida;
heparina; hidroclorotiazida; ibuprofeno; insulina; levotiroxina; loratadina; lorazepam; losartán; metamizol;
metformina; metoprolol; morfina; Nolotil; omeprazol; pantoprazol; paracetamol; penicilina; prednisona;
pregabalina; ramipril; salbutamol; sertralina; simvastatina; Sintrom; tramadol; Trankimazin; Ventolín;
warfarina
""")

WEEKDAYS = listed("lunes; martes; miércoles; jueves; viernes; sábado; domingo")
MONTHS = listed("""
enero; febrero; marzo; abril; mayo; junio; julio; agosto; septiembre; setiembre; octubre; noviembre;
diciembre
""")

FIRST_NAMES = listed("""
Adolfo; Adrián; Agustín; Ainhoa; Alba; Alberto; Alfonso; Alfredo; Alonso; Álvaro; Amparo; Ana María; Andrés;
Ángel; Ángela; Ángeles; Antonia; Araceli; Armando; Arturo; Asunción; Aurelio; Beatriz; Begoña; Benito;
Bernardo; Blanca; Camila; Carlota; Carolina; Catalina; Cayetano; César; Concepción; Concha; Consuelo;
Cristian; Cristina; Cristóbal; Daniela; Eduardo; Elisa; Emilia; Emilio; Encarnación; Ernesto; Esperanza;
Esteban; Esther; Eugenia; Eusebio; Ezequiel; Fabián; Facundo; Federico; Felipe; Félix; Fermín; Florencia;
Francisca; Gabriela; Gerardo; Germán; Gonzalo; Gregorio; Guadalupe; Guillermo; Héctor; Hernán; Hugo;
Humberto; Ignacio; Inés; Inmaculada; Íñigo; Irene; Isidro; Ismael; Iván; Jacinto; Jaime; Jesús; Jimena;
Joaquín; José; José Luis; José María; Josefa; Josefina; Juan Carlos; Juan José; Julián; Julio; Leandro;
Leonardo; Leticia; Lorena; Lorenzo; Lourdes; Lucía; Luciana; Luisa; Macarena; Manuela; Marcela; Marcelo;
Marcos; Margarita; María; María José; Mariana; Mariano; Maribel; Marina; Marisol; Mateo; Matías; Mauricio;
Maximiliano; Mercedes; Milagros; Miriam; Mónica; Montserrat; Nerea; Nicolás; Nieves; Nuria; Octavio;
Pascual; Paloma; Patricio; Pilar; Purificación; Ramiro; Ramón; Raquel; Raúl; Remedios; Rocío; Rodolfo;
Rodrigo; Rogelio; Rosalía; Rosario; Rubén; Salvador; Santiago; Saúl; Sebastián; Silvia; Soledad; Sonia;
Susana; Teodoro; Tomás; Valeria; Vicente; Víctor; Violeta; Ximena; Yolanda
""")

SURNAMES = listed("""
Acosta; Aguilar; Aguirre; Alonso; Álvarez; Arias; Ávila; Benítez; Blanco; Cabrera; Calderón; Campos; Cano;
Cárdenas; Carmona; Carrasco; Castillo; Contreras; Cortés; Crespo; Delgado; Díaz; Díez; Domínguez; Escobar;
Espinosa; Espinoza; Esteban; Fernández; Ferrer; Figueroa; Flores; Fuentes; Gallardo; Gallego; Garrido; Gil;
Giménez; Gómez; Guerrero; Gutiérrez; Guzmán; Hernández; Herrera; Herrero; Hidalgo; Ibáñez; Iglesias;
Jiménez; Juárez; Lara; León; Lorenzo; Lozano; Luna; Maldonado; Marín; Márquez; Martín; Medina; Mejía;
Méndez; Mendoza; Miranda; Molina; Montero; Montoya; Mora; Morales; Moya; Muñoz; Navarro; Núñez; Ochoa;
Ojeda; Ortega; Ortiz; Pacheco; Padilla; Paredes; Pascual; Pastor; Peña; Ponce; Prieto; Quintana; Quiroga;
Ramírez; Reyes; Ríos; Rivas; Rivera; Robles; Román; Romero; Rosales; Rubio; Ruiz; Sáez; Salas; Salazar;
Salinas; Santana; Santiago; Sanz; Serrano; Soler; Solís; Soto; Suárez; Tapia; Trujillo; Valdez; Valenzuela;
Vargas; Vázquez; Vega; Velasco; Velázquez; Vicente; Vidal; Villanueva; Zamora; Zapata; Zúñiga
""")

TITLES = listed("Señor; Señora; Señorita; Sra.; Srta.; Don; Doña; D.ª; Doctora")
FEMALE = listed("""
mujer; niña; chica; esposa; madre; hija; hermana; abuela; tía; sobrina; viuda; novia; señora; señorita;
mujeres; niñas; doña; mamá; enfermera
""")
MALE = listed("""
hombre; niño; chico; esposo; marido; padre; hijo; hermano; abuelo; tío; sobrino; viudo; novio; señor; varón;
hombres; niños; papá
""")

ORGANISATIONS = listed("""
Banco de España; Banco Santander; BBVA; CaixaBank; Cruz Roja; El Corte Inglés; Endesa; Guardia Civil;
Iberdrola; Iberia; Inditex; Mapfre; Mercadona; Movistar; ONU; Organización Mundial de la Salud; Pemex;
Renfe; Repsol; Seguridad Social; Telefónica; Televisa; Zara
""")

# English words, names and abbreviations too: they count in Spanish text alone.
EVERYDAY = frozenset(
    listed("""
Germán; Jesús; Elisa; domingo; dolores; Sídney; Cantón; Génova; várices; mayo; marzo; abril; martes; gota;
sarna; tos; sida; acidez; dolor; edema; tumor; malaria; lupus; dengue; hernia; herpes; anemia; anorexia;
bulimia; glaucoma; melanoma; sepsis; VIH; EPOC; ictus; rabia; padre; madre; chica; chico; papá; mamá; Don;
novia; tía; tío; Toledo; Granada; Cartagena; Cuenca; León; Lugo; Soria; Vigo; Vitoria; Zamora; Cali;
Mendoza; Rosario; La Paz; Colonia; Roma; Praga; Viena; Padua; Tolosa; Niza; Gales; Chihuahua; Veracruz;
Puebla; Florencia; Concepción; Santander; Galicia; Sonora; Europa; Canarias; Texas; Iberia; Zara; ONU; EEUU;
Italia; Argentina; Alba; Ángel; Ángela; Ángeles; Benito; Blanca; Carolina; Consuelo; Concha; Esther; Felix;
Félix; Hugo; Irene; Julio; Marina; Mercedes; Miriam; Paloma; Pilar; Salvador; Santiago; Soledad; Sonia;
Silvia; Violeta; Margarita; Lourdes; Milagros; Remedios; Nieves; Guadalupe; Esperanza; Marcos; Catalina;
Armando; Gil; Luna; Vega; Soto; Lara; Salas; Campos; Cano; Mora; Pastor; Miranda; Medina; Reyes; Blanco;
Rubio; Román; Salinas; Quintana; Guerrero; Hidalgo; Escobar; Molina; Fuentes; Flores; Castillo; Herrera;
Santana; Trujillo; Zapata; Ponce; Tapia; Moya; Arias; Maldonado; Montero; Delgado; Lorenzo; Villanueva;
Vicente; Esteban; Mariana; Martín; Martin; Andrés; Ávila; Ferrer; Iglesias; Lozano; Acosta; Aguilar;
Salazar; Peña; Pena
""")
)
