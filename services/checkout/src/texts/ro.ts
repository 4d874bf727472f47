import type { Texts } from './en.ts';

export const ro: Texts = {
  waiting: 'Așteptăm plata dumneavoastră',
  partial: 'O parte din plată a sosit',
  checking: 'Se verifică situația actuală',
  timeOver: 'Timpul de plată a expirat',
  reorganised: 'Rețeaua reordonează plata dumneavoastră',
  confirming: 'Plată detectată, se așteaptă confirmările',
  paid: 'Plătit. Vă mulțumim!',
  expired: 'Această cerere de plată a expirat',
  underpaid: 'Expirată: a sosit o sumă prea mică',
  late: 'Expirată: plata a sosit prea târziu',
  failed: 'Această plată a eșuat',
  sent: 'Trimisă. Căutăm plata în rețea',
  overdue: 'Trimisă, dar încă nu se vede în rețea',
  unsure: 'A fost trimisă plata dumneavoastră?',
  reverted: 'Plata a eșuat în rețea',

  payTo: 'Plătiți către {merchant}',
  paymentTo: 'Plată către {merchant}',
  paidTo: 'Plătit către {merchant}',
  paymentRequest: 'Cerere de plată',
  paidTitle: 'Plătit',
  receivedOf: 'Primit {received} din {amount}',
  expiredTitle: 'Expirată',
  lateTitle: 'Primită prea târziu',
  failedTitle: 'Eșuată',
  testNetwork: 'Rețea de test: nu sunt bani reali',
  hostedBy: 'Plăți prin {host}',

  partialHint: 'Au sosit {received} din {amount}. Vă rugăm să trimiteți restul la aceeași adresă.',
  checkingHint:
    'Această pagină a fost oprită temporar. Vă rugăm să nu trimiteți nimic până nu este din nou la zi.',
  timeOverHint:
    'Vă rugăm să nu mai trimiteți nimic. Dacă ați plătit deja, așteptați un moment: rețeaua este încă verificată.',
  reorganisedHint:
    'Vă rugăm să nu trimiteți din nou. Rețeaua își pune blocurile în altă ordine; plata va fi regăsită automat în ele.',
  confirmingHint:
    'Nu mai aveți nimic de făcut. Puteți închide această pagină; magazinul este anunțat automat.',
  finalHint: 'Rețeaua face plata definitivă. Poate dura câteva minute.',
  paidHint: 'Magazinul este anunțat automat.',
  tooMuchHint:
    'Au sosit cu {amount} mai mult decât prețul. Suma este înregistrată; vă rugăm să întrebați magazinul despre ea.',
  expiredHint: 'Vă rugăm să nu mai trimiteți nimic la adresa cererii. Începeți din nou plata în magazin.',
  alreadyPaid: 'Dacă ați plătit deja, contactați magazinul și comunicați numărul comenzii.',
  underpaidHint:
    'Au sosit și sunt înregistrate {received} din {amount}. Vă rugăm să contactați magazinul și să comunicați numărul comenzii.',
  lateHint:
    'Ce ați trimis a sosit și este înregistrat. Vă rugăm să contactați magazinul și să comunicați numărul comenzii.',
  failedHint:
    'Vă rugăm să contactați magazinul și să comunicați numărul comenzii. Ce a sosit este înregistrat.',

  unmatchedTitle: 'A sosit o plată care nu se ia în calcul',
  wrongToken: 'Ați trimis altă monedă',
  wrongChain: 'Ați trimis în altă rețea',
  unmatchedToken: 'Au sosit {amount}. Pentru această comandă se așteaptă {symbol}.',
  unmatchedChain:
    'Au sosit {amount} prin {chain}. Pentru această comandă se așteaptă {symbol} prin {expected}.',
  unmatchedLate: 'Au sosit {amount} după expirarea timpului de plată.',
  unmatchedShort: 'Au sosit {amount}, adică mai puțin decât prețul.',
  unmatchedAfter: 'Au sosit {amount}, deși comanda era deja plătită.',
  unmatchedFailed: 'Au sosit {amount}. Comanda a fost refuzată.',
  unmatchedHint:
    'Suma este înregistrată. Vă rugăm să contactați magazinul și să comunicați numărul comenzii.',
  unmatchedMore: 'Și încă {count}',
  payInstead: 'Plătiți comanda în schimb în {symbol} ({amount})',
  payOnChain: 'Plătiți în schimb {amount} prin {chain}',

  timeLeft: 'Timp de plată rămas',
  tooLate: 'Este prea târziu pentru a plăti',
  tooLateUnpaid:
    'Încă nu ați plătit? O plată trimisă acum poate sosi prea târziu. Vă rugăm să începeți din nou în magazin.',
  tooLatePaid: 'Ați plătit deja? Vă rugăm să așteptați aici: această pagină vă urmărește plata.',
  startAgain: 'Începeți din nou în magazin',
  scanOrSend: 'Scanați cu portofelul dumneavoastră sau trimiteți exact {amount} la această adresă.',
  payOrSend: 'Plătiți din aplicația de portofel sau trimiteți exact {amount} la această adresă.',
  amount: 'Sumă',
  amountMissing: 'Rest de trimis',
  network: 'Rețea',
  address: 'Adresă',
  warning: 'Trimiteți numai {symbol} prin {chain}: orice altceva se poate pierde.',
  codeOfPayment: 'Codul QR al plății: adresă, sumă și rețea',
  codeOfAddress: 'Codul QR al adresei',
  showCode: 'Afișați codul QR',
  withAmount: 'Cu sumă',
  withAmountHint: 'Acest cod conține adresa, suma și rețeaua. Bursele și unele portofele nu îl pot citi.',
  addressOnly: 'Doar adresa',
  addressOnlyHint: 'Acest cod conține doar adresa. Introduceți dumneavoastră {amount}.',
  chooseCode: 'Ce conține codul QR',
  copy: 'Copiați',
  copyAmount: 'Copiați suma',
  copyAddress: 'Copiați adresa',
  copyOrder: 'Copiați numărul comenzii',
  copyTransaction: 'Copiați numărul tranzacției',
  copied: 'Copiat',
  copyFailed: 'Copierea nu a reușit. Vă rugăm să selectați textul și să îl copiați manual.',

  openWallet: 'Deschideți într-un portofel',
  openIn: 'Deschideți în {wallet}',
  connectHint:
    'Scanați cu portofelul dumneavoastră și permiteți acolo conexiunea. Prin aceasta încă nu se plătește nimic.',
  payWith: 'Plătiți cu {wallet}',
  walletAsked: 'Vă rugăm să confirmați în {wallet}.',
  walletSent: 'Imediat ce rețeaua arată plata, o veți vedea aici. Vă rugăm să nu plătiți a doua oară.',
  walletOverdue:
    'Plata dumneavoastră nu a sosit încă. Vă rugăm să verificați în {wallet}: cât timp este în așteptare acolo, mai poate sosi. Plătiți din nou numai dacă a eșuat sau a fost anulată.',
  walletReverted:
    'Plata din {wallet} a eșuat în rețea: în afară de comision nu s-a plătit nimic. Vă rugăm să verificați acest lucru în {wallet} înainte de a plăti din nou.',
  walletRefused: 'Neconfirmată în {wallet}. Nu s-a trimis nimic.',
  walletWrongNetwork: '{wallet} este în altă rețea. Vă rugăm să treceți la {chain} și să încercați din nou.',
  walletFailed:
    'Nu este sigur dacă {wallet} a trimis plata. Vă rugăm să verificați în {wallet} înainte de a plăti din nou.',
  walletNotAsked:
    'Serverul magazinului nu răspunde, așa că nu s-a cerut nimic de la {wallet}. Vă rugăm să încercați din nou peste câteva momente.',
  payAgain: 'Am verificat: nu s-a plătit nimic. Plătesc din nou',
  notSent: 'Nu a fost trimisă',
  walletNotReady:
    '{wallet} nu a răspuns. Nu s-a trimis nimic. Vă rugăm să deschideți și să deblocați portofelul, apoi să încercați din nou.',
  walletUnable: '{wallet} nu poate trimite plata de aici. Vă rugăm să plătiți la adresă.',

  choose: 'Alegeți cum plătiți',
  chooseHint: 'Prețul rămâne același. Comisionul și durata depind de rețea.',
  chooseWarning:
    'Trimiteți numai moneda pe care o alegeți, în rețeaua pe care o alegeți: orice altceva se poate pierde.',
  chooseAgain: 'Alegeți alt mod de plată',
  chooseEarlier: 'Ce ați trimis la o adresă afișată înainte se ia în continuare în calcul.',
  chosenBefore: 'Ales data trecută',
  feeLow: 'Comision de rețea mic',
  feeMedium: 'Comision de rețea mediu',
  feeHigh: 'Comision de rețea mare',
  aboutSeconds: 'Circa {count} s',
  aboutMinutes: 'Circa {count} min',

  continueToPay: 'Continuați spre plată',
  amountBetween: 'Introduceți o sumă de la {min} la {max}.',
  scanPage: 'Scanați pentru a deschide pagina pe telefon',
  linkEnded: 'Nu mai este deschis',
  linkEndedHint:
    'Acest link nu mai acceptă plăți. O plată pe care ați început-o deja rămâne deschisă pe propria pagină.',
  soldOut: 'Epuizat',
  soldOutHint:
    'Totul este vândut sau rezervat. Ce este rezervat și nu se plătește devine din nou disponibil: vă rugăm să reveniți mai târziu.',

  order: 'Comandă',
  paidAt: 'Data și ora',
  price: 'Preț',
  received: 'Primit',
  tooMuch: 'În plus',
  missing: 'Lipsă',
  transaction: 'Tranzacție',
  viewTransaction: 'Vedeți în exploratorul de blocuri',
  confirmations: 'Confirmări',
  countOf: '{count} din {total}',
  stepSeen: 'Detectată',
  stepConfirming: 'Se confirmă',
  stepDone: 'Gata',
  backToShop: 'Înapoi la magazin',
  contactShop: 'Contactați magazinul',
  printReceipt: 'Tipăriți chitanța',

  offline: 'Fără conexiune. Se încearcă din nou. Ce a sosit este înregistrat.',
  offlineWait: 'Vă rugăm să nu plătiți până nu revine conexiunea.',
  language: 'Limbă',
  loading: 'Se încarcă cererea de plată',
  needsScript: 'Această pagină necesită JavaScript.',
  tryAgain: 'Încercați din nou',

  notFound: 'Comanda nu a fost găsită',
  linkNotValid: 'Link nevalid',
  linkNotValidHint:
    'Acest link nu deschide nicio plată. Vă rugăm să deschideți din nou linkul din magazin. Dacă ați plătit deja, contactați magazinul și comunicați numărul comenzii.',
  noPage: 'Pagina nu a fost găsită',
  noPageHint: 'Nu există nicio pagină la această adresă. Vă rugăm să deschideți din nou linkul din magazin.',
  tooManyRequests: 'Prea multe cereri',
  tooManyRequestsHint: 'Vă rugăm să așteptați și să încercați din nou peste câteva secunde.',
  notAvailable: 'Indisponibil',
  notAvailableHint: 'Vă rugăm să încercați din nou peste câteva momente. Ce a sosit este înregistrat.',
};
