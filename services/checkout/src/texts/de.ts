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
  hostedBy: 'Zahlungen über {host}',

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
  expiredHint: 'Bitte senden Sie nichts mehr an die Adresse. Beginnen Sie die Zahlung im Shop neu.',
  alreadyPaid: 'Wenn Sie schon bezahlt haben, wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  underpaidHint:
    '{received} von {amount} sind angekommen und erfasst. Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  lateHint:
    'Was Sie gesendet haben, ist angekommen und erfasst. Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  failedHint:
    'Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer. Was angekommen ist, ist erfasst.',

  unmatchedTitle: 'Eine Zahlung ist angekommen, die nicht zählt',
  wrongToken: 'Sie haben eine andere Währung gesendet',
  wrongChain: 'Sie haben über ein anderes Netzwerk gesendet',
  unmatchedToken: '{amount} sind angekommen. Für diese Bestellung wird {symbol} erwartet.',
  unmatchedChain:
    '{amount} sind über {chain} angekommen. Für diese Bestellung wird {symbol} über {expected} erwartet.',
  unmatchedLate: '{amount} sind nach Ablauf der Zeit angekommen.',
  unmatchedShort: '{amount} sind angekommen; das ist weniger als der Preis.',
  unmatchedAfter: '{amount} sind angekommen, obwohl die Bestellung schon bezahlt war.',
  unmatchedFailed: '{amount} sind angekommen. Die Bestellung wurde abgelehnt.',
  unmatchedHint:
    'Der Betrag ist erfasst. Bitte wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  unmatchedMore: 'Und {count} weitere',
  payInstead: 'Bestellung stattdessen in {symbol} bezahlen ({amount})',
  payOnChain: 'Stattdessen {amount} über {chain} bezahlen',

  timeLeft: 'Zeit zum Bezahlen',
  tooLate: 'Zum Bezahlen ist es jetzt zu spät',
  tooLateUnpaid:
    'Noch nicht bezahlt? Eine Zahlung käme jetzt vielleicht zu spät an. Bitte beginnen Sie im Shop neu.',
  tooLatePaid: 'Schon bezahlt? Bitte warten Sie hier: Diese Seite sucht weiter nach Ihrer Zahlung.',
  startAgain: 'Im Shop neu beginnen',
  scanOrSend: 'Scannen Sie mit Ihrer Wallet, oder senden Sie genau {amount} an diese Adresse.',
  payOrSend: 'Zahlen Sie mit Ihrer Wallet-App, oder senden Sie genau {amount} an diese Adresse.',
  amount: 'Betrag',
  amountMissing: 'Noch zu senden',
  network: 'Netzwerk',
  address: 'Adresse',
  warning: 'Senden Sie nur {symbol} über {chain}: Alles andere kann verloren gehen.',
  codeOfPayment: 'QR-Code der Zahlung: Adresse, Betrag und Netzwerk',
  codeOfAddress: 'QR-Code der Adresse',
  showCode: 'QR-Code zeigen',
  withAmount: 'Mit Betrag',
  withAmountHint:
    'Dieser Code enthält Adresse, Betrag und Netzwerk. Börsen und manche Wallets können ihn nicht lesen.',
  addressOnly: 'Nur Adresse',
  addressOnlyHint: 'Dieser Code enthält nur die Adresse. Geben Sie {amount} selbst ein.',
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
  connectHint:
    'Scannen Sie mit Ihrer Wallet, und erlauben Sie dort die Verbindung. Damit wird noch nichts bezahlt.',
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

  choose: 'Zahlungsweise wählen',
  chooseHint: 'Der Preis bleibt gleich. Gebühr und Dauer hängen vom Netzwerk ab.',
  chooseWarning:
    'Senden Sie nur die Währung, die Sie wählen, über das Netzwerk, das Sie wählen: Alles andere kann verloren gehen.',
  chooseAgain: 'Andere Zahlungsweise wählen',
  chooseEarlier: 'Was Sie an eine zuvor gezeigte Adresse gesendet haben, zählt weiterhin.',
  chosenBefore: 'Zuletzt gewählt',
  feeLow: 'Niedrige Netzwerkgebühr',
  feeMedium: 'Mittlere Netzwerkgebühr',
  feeHigh: 'Hohe Netzwerkgebühr',
  aboutSeconds: 'Etwa {count} Sek.',
  aboutMinutes: 'Etwa {count} Min.',

  continueToPay: 'Weiter zur Zahlung',
  amountBetween: 'Geben Sie einen Betrag von {min} bis {max} ein.',
  scanPage: 'Scannen, um diese Seite auf dem Telefon zu öffnen',
  linkEnded: 'Nicht mehr offen',
  linkEndedHint:
    'Über diesen Link sind keine Zahlungen mehr möglich. Eine Zahlung, die Sie schon begonnen haben, bleibt auf ihrer eigenen Seite offen.',
  soldOut: 'Ausverkauft',
  soldOutHint:
    'Alles ist verkauft oder reserviert. Was reserviert ist und nicht bezahlt wird, ist danach wieder zu haben: Bitte sehen Sie später noch einmal nach.',

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

  offline: 'Keine Verbindung. Neuer Versuch läuft. Was angekommen ist, ist erfasst.',
  offlineWait: 'Bitte bezahlen Sie erst, wenn die Verbindung wieder da ist.',
  language: 'Sprache',
  loading: 'Die Zahlungsanforderung wird geladen',
  needsScript: 'Diese Seite braucht JavaScript.',
  tryAgain: 'Noch einmal versuchen',

  notFound: 'Bestellung nicht gefunden',
  linkNotValid: 'Link ungültig',
  linkNotValidHint:
    'Dieser Link öffnet keine Zahlung. Bitte öffnen Sie den Link noch einmal aus dem Shop. Wenn Sie schon bezahlt haben, wenden Sie sich an den Shop und nennen Sie die Bestellnummer.',
  noPage: 'Seite nicht gefunden',
  noPageHint: 'Unter dieser Adresse gibt es keine Seite. Bitte öffnen Sie den Link noch einmal aus dem Shop.',
  tooManyRequests: 'Zu viele Anfragen',
  tooManyRequestsHint: 'Bitte versuchen Sie es in einigen Sekunden noch einmal.',
  notAvailable: 'Nicht verfügbar',
  notAvailableHint: 'Bitte versuchen Sie es gleich noch einmal. Was angekommen ist, ist erfasst.',
};
