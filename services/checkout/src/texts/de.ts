import type { Texts } from './en.ts';

export const de: Texts = {
  waiting: 'Warten auf Ihre Zahlung',
  partial: 'Ein Teil der Zahlung ist angekommen',
  checking: 'Der neueste Stand wird geprüft',
  timeOver: 'Die Zeit zum Bezahlen ist vorbei',
  reorganised: 'Das Netzwerk ordnet Ihre Zahlung neu ein',
  confirming: 'Zahlung gesehen, die Bestätigungen folgen',
  paid: 'Bezahlt. Vielen Dank!',
  expired: 'Diese Zahlungsanforderung ist abgelaufen',
  underpaid: 'Abgelaufen: Es ist zu wenig angekommen',
  late: 'Abgelaufen: Ihre Zahlung kam zu spät',
  failed: 'Diese Zahlung ist fehlgeschlagen',
  sent: 'Gesendet. Wird im Netzwerk gesucht',
  overdue: 'Gesendet, aber im Netzwerk noch nicht zu sehen',
  unsure: 'Wurde Ihre Zahlung gesendet?',
  reverted: 'Die Zahlung ist im Netzwerk fehlgeschlagen',

  payTo: '{merchant} bezahlen',
  paymentTo: 'Zahlung an {merchant}',
  paidTo: 'An {merchant} bezahlt',
  paymentRequest: 'Zahlungsanforderung',
  paidTitle: 'Bezahlt',
  receivedOf: '{received} von {amount} angekommen',
  expiredTitle: 'Abgelaufen',
  lateTitle: 'Zu spät angekommen',
  failedTitle: 'Fehlgeschlagen',
  testNetwork: 'Testnetz: kein echtes Geld',
  hostedBy: 'Zahlungsseite von {host}',

  partialHint: '{received} von {amount} sind angekommen. Bitte senden Sie den Rest an dieselbe Adresse.',
  checkingHint:
    'Diese Seite war angehalten. Bitte senden Sie nichts, bis sie wieder auf dem neuesten Stand ist.',
  timeOverHint:
    'Bitte senden Sie nichts mehr. Falls Sie schon bezahlt haben, warten Sie einen Moment: Das Netzwerk wird noch geprüft.',
  reorganisedHint:
    'Bitte senden Sie nicht noch einmal. Das Netzwerk ordnet seine Blöcke neu; Ihre Zahlung wird darin automatisch wiedergefunden.',
  confirmingHint:
    'Sie müssen nichts mehr tun. Sie können diese Seite schließen; der Shop wird automatisch benachrichtigt.',
  finalHint: 'Das Netzwerk macht die Zahlung endgültig. Das kann einige Minuten dauern.',
  paidHint: 'Der Shop wird automatisch benachrichtigt.',
  tooMuchHint:
    '{amount} mehr als der Preis sind angekommen. Der Betrag ist erfasst; bitte fragen Sie den Shop danach.',
  expiredHint:
    'Bitte senden Sie nichts mehr an die Adresse. Gehen Sie zurück zum Shop und beginnen Sie die Zahlung neu.',
  underpaidHint:
    '{received} von {amount} sind angekommen. Der Betrag ist erfasst und nicht verloren. Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  lateHint:
    'Was Sie gesendet haben, ist angekommen und erfasst. Es ist nicht verloren. Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  failedHint:
    'Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer. Was angekommen ist, ist erfasst.',

  unmatchedTitle: 'Eine Zahlung ist angekommen, die nicht zählt',
  unmatchedToken: '{amount} sind angekommen. Für diese Bestellung wird {symbol} erwartet.',
  unmatchedChain:
    '{amount} sind über {chain} angekommen. Für diese Bestellung wird {symbol} über {expected} erwartet.',
  unmatchedLate: '{amount} sind nach Ablauf der Zeit angekommen.',
  unmatchedShort: '{amount} sind angekommen; das ist weniger als der Preis.',
  unmatchedAfter: '{amount} sind angekommen, obwohl die Bestellung schon bezahlt war.',
  unmatchedFailed: '{amount} sind angekommen. Die Bestellung wurde abgelehnt.',
  unmatchedHint:
    'Der Betrag ist erfasst und nicht verloren. Bitte senden Sie ihn nicht noch einmal: Wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  unmatchedMore: 'Und {count} weitere',
  payAnyway: 'Bestellung trotzdem bezahlen',

  timeLeft: 'Zeit zum Bezahlen',
  tooLate: 'Zu spät für diese Zahlung',
  tooLateHint:
    'Was Sie jetzt senden, kommt vielleicht zu spät an. Wenn Sie noch nicht bezahlt haben, beginnen Sie bitte im Shop neu. Wenn Sie bezahlt haben, warten Sie hier.',
  scanOrSend: 'Scannen Sie mit Ihrer Wallet, oder senden Sie genau {amount} an diese Adresse.',
  amount: 'Betrag',
  amountMissing: 'Noch zu senden',
  network: 'Netzwerk',
  address: 'Adresse',
  warning:
    'Senden Sie nur {symbol} über {chain}. Alles andere, auch dieselbe Währung über ein anderes Netzwerk, kann verloren gehen.',
  codeOfPayment: 'QR-Code der Zahlung: Adresse, Betrag und Netzwerk',
  codeOfAddress: 'QR-Code der Adresse',
  showCode: 'QR-Code zeigen',
  withAmount: 'Mit Betrag',
  withAmountHint:
    'Füllt Betrag und Netzwerk aus. Börsen und manche Wallets verstehen ihn möglicherweise nicht.',
  addressOnly: 'Nur Adresse',
  addressOnlyHint: 'Jede Wallet und jede Börse kann ihn lesen. Geben Sie den Betrag selbst ein.',
  chooseCode: 'Was der QR-Code enthält',
  copy: 'Kopieren',
  copyAmount: 'Betrag kopieren',
  copyAddress: 'Adresse kopieren',
  copyOrder: 'Bestellnummer kopieren',
  copyTransaction: 'Transaktionsnummer kopieren',
  copied: 'Kopiert',
  copyFailed: 'Kopieren nicht möglich. Bitte markieren und von Hand kopieren.',

  openWallet: 'In einer Wallet-App öffnen',
  openIn: 'In {wallet} öffnen',
  payWith: 'Mit {wallet} bezahlen',
  walletAsked: 'Bitte bestätigen Sie in {wallet}.',
  walletSent:
    'Sobald das Netzwerk Ihre Zahlung zeigt, sehen Sie sie hier. Bitte bezahlen Sie nicht ein zweites Mal.',
  walletOverdue:
    'Ihre Zahlung ist noch nicht angekommen. Bitte sehen Sie in {wallet} nach: Solange sie dort aussteht, kann sie noch ankommen. Bezahlen Sie nur dann noch einmal, wenn sie fehlgeschlagen ist oder abgebrochen wurde.',
  walletReverted:
    'Die Zahlung aus {wallet} ist im Netzwerk fehlgeschlagen: Außer der Gebühr wurde nichts bezahlt. Bitte prüfen Sie das in {wallet}, bevor Sie noch einmal bezahlen.',
  walletRefused: 'In {wallet} nicht bestätigt. Es wurde nichts gesendet.',
  walletWrongNetwork:
    '{wallet} ist mit einem anderen Netzwerk verbunden. Bitte wechseln Sie zu {chain} und versuchen Sie es noch einmal.',
  walletFailed:
    'Es ist nicht sicher, ob {wallet} Ihre Zahlung gesendet hat. Bitte sehen Sie in {wallet} nach, bevor Sie noch einmal bezahlen.',
  walletNotAsked:
    'Keine Antwort vom Server des Shops, deshalb wurde {wallet} nicht gefragt. Bitte versuchen Sie es gleich noch einmal.',
  payAgain: 'Ich habe nachgesehen: Es wurde nichts bezahlt. Noch einmal bezahlen',
  notSent: 'Sie wurde nicht gesendet',
  walletNotReady:
    '{wallet} hat nicht geantwortet. Es wurde nichts gesendet. Bitte öffnen und entsperren Sie die Wallet und versuchen Sie es noch einmal.',
  walletUnable: '{wallet} kann das von hier aus nicht senden. Bitte bezahlen Sie an die Adresse.',

  order: 'Bestellung',
  paidAt: 'Datum und Uhrzeit',
  price: 'Preis',
  received: 'Angekommen',
  tooMuch: 'Zu viel',
  missing: 'Fehlt',
  transaction: 'Transaktion',
  viewTransaction: 'Im Block-Explorer ansehen',
  confirmations: 'Bestätigungen',
  countOf: '{count} von {total}',
  stepSeen: 'Gesehen',
  stepConfirming: 'Wird bestätigt',
  stepDone: 'Fertig',
  backToShop: 'Zurück zum Shop',
  contactShop: 'Shop kontaktieren',
  printReceipt: 'Beleg drucken',

  offline: 'Keine Verbindung. Neuer Versuch läuft; was Sie bezahlt haben, ist nicht verloren.',
  offlineWait: 'Bitte bezahlen Sie erst, wenn die Verbindung wieder da ist.',
  language: 'Sprache',
  loading: 'Die Zahlungsanforderung wird geladen',
  needsScript: 'Diese Seite braucht JavaScript.',
  tryAgain: 'Noch einmal versuchen',

  notFound: 'Bestellung nicht gefunden',
  linkNotValid: 'Link ungültig',
  linkNotValidHint:
    'Dieser Zahlungslink ist ungültig. Bitte gehen Sie zurück zum Shop und öffnen Sie ihn noch einmal. Falls Sie schon bezahlt haben, nennen Sie dem Shop die Bestellnummer.',
  noPage: 'Seite nicht gefunden',
  noPageHint:
    'Unter dieser Adresse gibt es keine Seite. Bitte öffnen Sie den Zahlungslink noch einmal aus dem Shop.',
  tooManyRequests: 'Zu viele Anfragen',
  tooManyRequestsHint: 'Bitte versuchen Sie es in einigen Sekunden noch einmal.',
  notAvailable: 'Nicht verfügbar',
  notAvailableHint: 'Bitte versuchen Sie es gleich noch einmal; was Sie bezahlt haben, ist nicht verloren.',
};
