"""Place names everybody knows: countries, US states, large cities and regions."""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

COUNTRIES = listed("""
Afghanistan; Albania; Algeria; Andorra; Angola; Antigua and Barbuda; Argentina; Armenia; Australia; Austria;
Azerbaijan; Bahamas; Bahrain; Bangladesh; Barbados; Belarus; Belgium; Belize; Benin; Bhutan; Bolivia;
Bosnia and Herzegovina; Bosnia; Botswana; Brazil; Brunei; Bulgaria; Burkina Faso; Burundi; Cambodia; Cameroon;
Canada; Cape Verde; Central African Republic; Chad; Chile; China; Colombia; Comoros; Congo; Costa Rica;
Croatia; Cuba; Cyprus; Czech Republic; Czechia; Democratic Republic of the Congo; Denmark; Djibouti; Dominica;
Dominican Republic; East Timor; Ecuador; Egypt; El Salvador; England; Equatorial Guinea; Eritrea; Estonia;
Eswatini; Ethiopia; Fiji; Finland; France; Gabon; Gambia; Georgia; Germany; Ghana; Great Britain; Britain;
Greece; Greenland; Grenada; Guatemala; Guinea; Guinea-Bissau; Guyana; Haiti; Honduras; Hungary; Iceland;
India; Indonesia; Iran; Iraq; Ireland; Israel; Italy; Ivory Coast; Jamaica; Japan; Jordan; Kazakhstan; Kenya;
Kiribati; Kosovo; Kuwait; Kyrgyzstan; Laos; Latvia; Lebanon; Lesotho; Liberia; Libya; Liechtenstein;
Lithuania; Luxembourg; Madagascar; Malawi; Malaysia; Maldives; Mali; Malta; Marshall Islands; Mauritania;
Mauritius; Mexico; Micronesia; Moldova; Monaco; Mongolia; Montenegro; Morocco; Mozambique; Myanmar; Burma;
Namibia; Nauru; Nepal; Netherlands; Holland; New Zealand; Nicaragua; Niger; Nigeria; North Korea;
North Macedonia; Northern Ireland; Norway; Oman; Pakistan; Palau; Palestine; Panama; Papua New Guinea;
Paraguay; Peru; Philippines; Poland; Portugal; Qatar; Romania; Russia; Russian Federation; Rwanda;
Saint Kitts and Nevis; Saint Lucia; Saint Vincent and the Grenadines; Samoa; San Marino; Saudi Arabia;
Scotland; Senegal; Serbia; Seychelles; Sierra Leone; Slovakia; Slovenia; Solomon Islands; Somalia;
South Africa; South Korea; Korea; South Sudan; Spain; Sri Lanka; Sudan; Suriname; Sweden; Switzerland; Syria;
Taiwan; Tajikistan; Tanzania; Thailand; Togo; Tonga; Trinidad and Tobago; Tunisia; Turkey; Turkmenistan;
Tuvalu; Uganda; Ukraine; United Arab Emirates; United Kingdom; United States; United States of America;
Uruguay; Uzbekistan; Vanuatu; Vatican City; Venezuela; Vietnam; Wales; Yemen; Zambia; Zimbabwe; Soviet Union;
Yugoslavia; Czechoslovakia; UK; U.K.; USA; U.S.A.; US; U.S.; UAE; USSR; DRC
""")

STATES = listed("""
Alabama; Alaska; Arizona; Arkansas; California; Colorado; Connecticut; Delaware; Florida; Georgia; Hawaii;
Idaho; Illinois; Indiana; Iowa; Kansas; Kentucky; Louisiana; Maine; Maryland; Massachusetts; Michigan;
Minnesota; Mississippi; Missouri; Montana; Nebraska; Nevada; New Hampshire; New Jersey; New Mexico; New York;
North Carolina; North Dakota; Ohio; Oklahoma; Oregon; Pennsylvania; Rhode Island; South Carolina;
South Dakota; Tennessee; Texas; Utah; Vermont; Virginia; Washington; West Virginia; Wisconsin; Wyoming;
District of Columbia; Puerto Rico
""")

CITIES = listed("""
Aachen; Aberdeen; Abidjan; Abu Dhabi; Abuja; Accra; Adana; Addis Ababa; Adelaide; Agra; Ahmedabad; Albany;
Albuquerque; Aleppo; Alexandria; Algiers; Alicante; Almaty; Amman; Amritsar; Amsterdam; Anaheim; Anchorage;
Ankara; Ann Arbor; Antalya; Antwerp; Arlington; Ashgabat; Asmara; Astana; Asunción; Athens; Atlanta; Auckland;
Augusta; Aurora; Austin; Baghdad; Bakersfield; Baku; Baltimore; Bamako; Bandung; Bangalore; Bangkok; Bangui;
Barcelona; Bari; Barranquilla; Basel; Basra; Bath; Baton Rouge; Beijing; Beirut; Belfast; Belgrade; Belmopan;
Belo Horizonte; Bengaluru; Bergen; Berlin; Bern; Bilbao; Birmingham; Bishkek; Bogotá; Boise; Bologna; Bonn;
Bordeaux; Boston; Boulder; Bradford; Brasília; Bratislava; Brazzaville; Bremen; Brighton; Brisbane; Bristol;
Brno; Brooklyn; Bruges; Brussels; Bucharest; Budapest; Buenos Aires; Buffalo; Bujumbura; Bursa; Busan; Cairo;
Calcutta; Calgary; Cali; Cambridge; Canberra; Cancún; Cape Town; Caracas; Cardiff; Cartagena; Casablanca;
Cebu; Chandigarh; Charleston; Charlotte; Chattanooga; Chengdu; Chennai; Chicago; Chișinău; Chittagong;
Chongqing; Christchurch; Cincinnati; Cleveland; Cologne; Colombo; Colorado Springs; Columbus; Conakry;
Copenhagen; Córdoba; Cork; Coventry; Dakar; Dalian; Dallas; Damascus; Dar es Salaam; Darwin; Dayton; Delhi;
Denver; Des Moines; Detroit; Dhaka; Doha; Dortmund; Douala; Dresden; Dubai; Dublin; Dundee; Durban; Durham;
Dushanbe; Düsseldorf; Edinburgh; Edmonton; Eindhoven; El Paso; Essen; Exeter; Fargo; Florence; Fortaleza;
Fort Worth; Frankfurt; Freetown; Fresno; Fukuoka; Gaborone; Gaza; Gdańsk; Geneva; Genoa; Ghent; Glasgow;
Gothenburg; Granada; Graz; Grenoble; Groningen; Guadalajara; Guangzhou; Guatemala City; Guayaquil; Haifa;
Halifax; Hamburg; Hangzhou; Hanoi; Hanover; Harare; Harbin; Harrisburg; Hartford; Havana; Helsinki; Hiroshima;
Ho Chi Minh City; Hobart; Hong Kong; Honolulu; Houston; Hyderabad; Incheon; Indianapolis; Innsbruck;
Islamabad; Istanbul; Izmir; Jacksonville; Jaipur; Jakarta; Jeddah; Jersey City; Jerusalem; Johannesburg; Juba;
Kabul; Kampala; Kanpur; Kansas City; Karachi; Kathmandu; Kawasaki; Khartoum; Kiev; Kyiv; Kigali; Kingston;
Kinshasa; Knoxville; Kobe; Kolkata; Kraków; Krakow; Kuala Lumpur; Kyoto; La Paz; Lagos; Lahore; Las Vegas;
Lausanne; Leeds; Leicester; Leipzig; Lexington; Libreville; Lille; Lilongwe; Lima; Lincoln; Linz; Lisbon;
Little Rock; Liverpool; Ljubljana; Lomé; London; Long Beach; Los Angeles; Louisville; Luanda; Lucknow; Lusaka;
Lviv; Lyon; Madison; Madrid; Malaga; Managua; Manama; Manchester; Manhattan; Manila; Maputo; Marrakesh;
Marseille; Mecca; Medellín; Medina; Melbourne; Memphis; Mexico City; Miami; Milan; Milwaukee; Minneapolis;
Minsk; Mobile; Mogadishu; Mombasa; Monrovia; Monterrey; Montevideo; Montgomery; Montpellier; Montreal; Moscow;
Mosul; Mumbai; Munich; Muscat; N'Djamena; Nagasaki; Nagoya; Nairobi; Nanjing; Nantes; Naples; Nashville;
Nassau; New Delhi; New Haven; New Orleans; New York City; Newark; Newcastle; Niamey; Nice; Nicosia; Norfolk;
Norwich; Nottingham; Nouakchott; Nuremberg; Oakland; Odessa; Oklahoma City; Omaha; Orlando; Osaka; Oslo;
Ottawa; Ouagadougou; Oxford; Palermo; Palo Alto; Panama City; Paris; Pasadena; Perth; Peshawar; Philadelphia;
Phnom Penh; Phoenix; Pisa; Pittsburgh; Plymouth; Podgorica; Port Louis; Port Moresby; Port-au-Prince;
Portland; Porto; Portsmouth; Poznań; Prague; Pretoria; Princeton; Pristina; Providence; Pune; Pyongyang;
Quebec City; Quito; Rabat; Raleigh; Ramallah; Rangoon; Reading; Recife; Reno; Reykjavik; Richmond; Riga;
Rio de Janeiro; Riyadh; Rochester; Rome; Rosario; Rotterdam; Sacramento; Saigon; Saint Petersburg;
St. Petersburg; Salt Lake City; Salvador; Salzburg; San Antonio; San Diego; San Francisco; San José; San Jose;
San Juan; San Salvador; Sana'a; Santa Fe; Santiago; Santo Domingo; São Paulo; Sao Paulo; Sapporo; Sarajevo;
Savannah; Seattle; Seoul; Seville; Shanghai; Sheffield; Shenzhen; Singapore; Skopje; Sofia; Southampton;
Spokane; Springfield; St. Louis; Stockholm; Strasbourg; Stuttgart; Sucre; Surabaya; Sydney; Syracuse; Taipei;
Tallahassee; Tallinn; Tampa; Tangier; Tashkent; Tbilisi; Tegucigalpa; Tehran; Tel Aviv; The Hague;
Thessaloniki; Tianjin; Tijuana; Tirana; Tokyo; Toledo; Topeka; Toronto; Toulouse; Tripoli; Tucson; Tulsa;
Tunis; Turin; Ulaanbaatar; Utrecht; Valencia; Valletta; Valparaíso; Vancouver; Varanasi; Venice; Verona;
Vienna; Vientiane; Vilnius; Vladivostok; Warsaw; Washington D.C.; Washington, D.C.; Wellington; Wichita;
Windhoek; Winnipeg; Wolverhampton; Worcester; Wrocław; Wuhan; Xi'an; Yangon; Yaoundé; Yerevan; Yokohama; York;
Zagreb; Zaragoza; Zurich; Zürich
""")

REGIONS = listed("""
Africa; Alberta; Andalusia; Antarctica; Asia; Balkans; Bavaria; Bermuda; British Columbia; Brittany;
Caribbean; Catalonia; Caucasus; Central America; Chechnya; Cornwall; Corsica; Crete; Crimea; Cumbria; Devon;
Essex; Europe; Flanders; Galicia; Guam; Gujarat; Himalayas; Hokkaido; Kashmir; Kerala; Kurdistan;
Latin America; Maharashtra; Manitoba; Mediterranean; Middle East; New England; New South Wales; Newfoundland;
Normandy; North America; Nova Scotia; Oceania; Okinawa; Ontario; Patagonia; Provence; Punjab; Quebec;
Queensland; Sahara; Sardinia; Saskatchewan; Saxony; Scandinavia; Siberia; Sicily; Silesia; South America;
Southeast Asia; Surrey; Sussex; Tasmania; Tibet; Transylvania; Tuscany; Tyrol; Ulster; West Bank; Xinjiang;
Yorkshire; Zanzibar
""")

# Everyday words and given names too: they count as places only where they are written with a capital.
CASED = frozenset(
    listed("""
Augusta; Austin; Aurora; Bath; Buffalo; Cali; Chad; Charlotte; China; Columbus; Cork; Darwin; Durham;
Essen; Essex; Florence; Georgia; Guinea; Houston; Jordan; Lima; Lincoln; Madison; Mali; Mobile; Nice; Norfolk;
Orlando; Oxford; Phoenix; Pisa; Providence; Reading; Reno; Salvador; Santiago; Sofia; Surrey; Turkey; US;
Verona; Victoria; Virginia; Washington; Worcester; York; DRC; Dominica; Maine; Toledo; Valencia; Cleveland;
Montana; Savannah; Carolina; Niger; Oman; Rosario; Alexandria; Panama; Bergen; Medina
""")
)

PLACES = tuple(dict.fromkeys(COUNTRIES + STATES + CITIES + REGIONS))
