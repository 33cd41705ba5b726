"""Well-known companies, institutions, agencies and clubs."""

from __future__ import annotations

from sfumato.concepts.detectors.dictionary import listed

ORGANISATIONS = listed("""
Accenture; Adidas; Adobe; Aetna; Airbnb; Airbus; Alibaba; Allianz; Amazon; AMD; American Airlines;
American Express; Amnesty International; Apple; Associated Press; AstraZeneca; AT&T; Audi; Bank of America;
Barclays; BASF; Bayer; BBC; Berkshire Hathaway; Bloomberg; Blue Cross; BMW; BNP Paribas; Boeing; BP;
British Airways; Cambridge University; Canon; Capital One; Caterpillar; Chevron; Chrysler; CIA; Cisco;
Citibank; Citigroup; CNN; Coca-Cola; Columbia University; Comcast; Costco; Credit Suisse; CVS; Daimler; Dell;
Delta Air Lines; Deloitte; Deutsche Bank; DHL; Disney; Dow Jones; DuPont; eBay; Enron; Ericsson;
Ernst & Young; European Central Bank; European Commission; European Union; EU; Exxon; ExxonMobil; Facebook;
FBI; FDA; Federal Reserve; FedEx; Fiat; FIFA; Ford; Ford Motor; Fujitsu; Gazprom; General Electric;
General Motors; GlaxoSmithKline; Goldman Sachs; Google; Greenpeace; Harvard; Harvard University;
Hewlett-Packard; Hilton; Hitachi; Home Depot; Honda; HSBC; Huawei; Hyundai; IBM; IKEA; IMF; ING; Intel;
International Monetary Fund; Interpol; Johns Hopkins; Johnson & Johnson; JPMorgan; JPMorgan Chase;
Kaiser Permanente; KPMG; Lehman Brothers; Lockheed Martin; Lufthansa; Mastercard; Mayo Clinic; McDonald's;
McKinsey; Mercedes-Benz; Merck; Merrill Lynch; Meta; MetLife; Microsoft; MIT; Mitsubishi; Morgan Stanley;
Motorola; NASA; NATO; NBC; Nestlé; Netflix; New York Times; NHS; Nike; Nintendo; Nissan; Nokia; Novartis;
Nvidia; OPEC; Oracle; Oxfam; Oxford University; Panasonic; PayPal; Pentagon; PepsiCo; Petrobras; Pfizer;
Philips; Porsche; Princeton University; Procter & Gamble; Prudential; Red Cross; Renault; Reuters; Roche;
Royal Bank of Scotland; Ryanair; Salesforce; Samsung; Sanofi; SAP; Shell; Siemens; Sony; SpaceX; Spotify;
Stanford; Stanford University; Starbucks; Target; Tesco; Tesla; Texas Instruments; Toshiba; TotalEnergies;
Toyota; Twitter; Uber; UBS; UEFA; UNESCO; UNICEF; Unilever; United Airlines; United Nations; UnitedHealth;
UPS; Verizon; Visa; Vodafone; Volkswagen; Volvo; Walgreens; Wall Street Journal; Walmart; Wells Fargo;
World Bank; World Health Organization; WHO; World Trade Organization; Xerox; Yahoo; Yale; Yale University
""")

# Ordinary words, names or abbreviations of something else when written small.
CASED = frozenset(
    listed("""
Adobe; Amazon; AMD; Apple; BP; Canon; Caterpillar; CIA; Disney; EU; Ford; IBM; ING; Intel; Merck; Meta; MIT;
Oracle; SAP; Shell; Stanford; Target; UPS; Visa; WHO; Yale; Harvard; Pentagon; NHS; IMF; Prudential; Roche;
Philips; Porsche; Bayer; Accenture; Hilton
""")
)
