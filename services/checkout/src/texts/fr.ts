import type { Texts } from './en.ts';

export const fr: Texts = {
  waiting: 'En attente de votre paiement',
  partial: 'Une partie du paiement est arrivée',
  checking: 'Vérification en cours',
  timeOver: 'Le délai de paiement est écoulé',
  reorganised: 'Le réseau réordonne votre paiement',
  confirming: 'Paiement détecté, en attente de confirmations',
  paid: 'Payé. Merci !',
  expired: 'Cette demande de paiement a expiré',
  underpaid: 'Expirée : le montant reçu est insuffisant',
  late: 'Expirée : votre paiement est arrivé trop tard',
  failed: 'Ce paiement a échoué',
  sent: 'Envoyé. Recherche sur le réseau en cours',
  overdue: 'Envoyé, mais pas encore visible sur le réseau',
  unsure: 'Votre paiement a-t-il été envoyé ?',
  reverted: 'Le paiement a échoué sur le réseau',

  payTo: 'Payer {merchant}',
  paymentTo: 'Paiement à {merchant}',
  paidTo: 'Payé à {merchant}',
  paymentRequest: 'Demande de paiement',
  paidTitle: 'Payé',
  receivedOf: 'Reçu {received} sur {amount}',
  expiredTitle: 'Expiré',
  lateTitle: 'Reçu trop tard',
  failedTitle: 'Échoué',
  testNetwork: 'Réseau de test : pas d’argent réel',
  hostedBy: 'Page de paiement de {host}',

  partialHint: '{received} sur {amount} sont arrivés. Veuillez envoyer le reste à la même adresse.',
  checkingHint: 'Cette page était en pause. N’envoyez rien avant qu’elle soit de nouveau à jour.',
  timeOverHint:
    'N’envoyez plus rien. Si vous avez déjà payé, patientez un instant : le réseau est encore en cours de vérification.',
  reorganisedHint:
    'Ne l’envoyez pas une seconde fois. Le réseau réordonne ses blocs ; votre paiement y sera retrouvé automatiquement.',
  confirmingHint:
    'Vous n’avez plus rien à faire. Vous pouvez fermer cette page ; la boutique est prévenue automatiquement.',
  finalHint: 'Le réseau rend le paiement définitif. Cela peut prendre quelques minutes.',
  paidHint: 'La boutique est prévenue automatiquement.',
  tooMuchHint:
    '{amount} de plus que le prix sont arrivés. C’est enregistré ; renseignez-vous auprès de la boutique.',
  expiredHint: 'N’envoyez plus rien à son adresse. Retournez à la boutique et recommencez le paiement.',
  underpaidHint:
    '{received} sur {amount} sont arrivés. C’est enregistré et rien n’est perdu. Contactez la boutique en indiquant le numéro de commande.',
  lateHint:
    'Ce que vous avez envoyé est arrivé et enregistré. Rien n’est perdu. Contactez la boutique en indiquant le numéro de commande.',
  failedHint: 'Contactez la boutique en indiquant le numéro de commande. Ce qui est arrivé est enregistré.',

  unmatchedTitle: 'Un paiement est arrivé qui ne compte pas',
  unmatchedToken: '{amount} sont arrivés. Cette commande attend des {symbol}.',
  unmatchedChain: '{amount} sont arrivés sur {chain}. Cette commande attend des {symbol} sur {expected}.',
  unmatchedLate: '{amount} sont arrivés après le délai de paiement.',
  unmatchedShort: '{amount} sont arrivés, moins que le prix.',
  unmatchedAfter: '{amount} sont arrivés alors que la commande était déjà payée.',
  unmatchedFailed: '{amount} sont arrivés. La commande a été refusée.',
  unmatchedHint:
    'C’est enregistré et rien n’est perdu. Ne l’envoyez pas une seconde fois : contactez la boutique en indiquant le numéro de commande.',
  unmatchedMore: 'Et {count} de plus',
  payAnyway: 'Payer la commande quand même',

  timeLeft: 'Temps restant pour payer',
  tooLate: 'Trop tard pour ce paiement',
  tooLateHint:
    'Un paiement envoyé maintenant risque d’arriver trop tard. Si vous n’avez pas encore payé, recommencez dans la boutique. Si vous avez payé, attendez ici.',
  scanOrSend: 'Scannez avec votre portefeuille, ou envoyez exactement {amount} à cette adresse.',
  amount: 'Montant',
  amountMissing: 'Reste à envoyer',
  network: 'Réseau',
  address: 'Adresse',
  warning:
    'Envoyez uniquement des {symbol} sur {chain}. Tout autre envoi, ou la même monnaie sur un autre réseau, peut être perdu.',
  codeOfPayment: 'Code QR du paiement : adresse, montant et réseau',
  codeOfAddress: 'Code QR de l’adresse',
  showCode: 'Afficher le code QR',
  withAmount: 'Avec montant',
  withAmountHint:
    'Remplit le montant et le réseau. Les plateformes et certains portefeuilles peuvent ne pas le comprendre.',
  addressOnly: 'Adresse seule',
  addressOnlyHint: 'Tous les portefeuilles et plateformes le lisent. Saisissez le montant à la main.',
  chooseCode: 'Contenu du code QR',
  copy: 'Copier',
  copyAmount: 'Copier le montant',
  copyAddress: 'Copier l’adresse',
  copyOrder: 'Copier le numéro de commande',
  copyTransaction: 'Copier le numéro de transaction',
  copied: 'Copié',
  copyFailed: 'Copie impossible. Sélectionnez le texte et copiez-le à la main.',

  openWallet: 'Ouvrir dans un portefeuille',
  openIn: 'Ouvrir dans {wallet}',
  payWith: 'Payer avec {wallet}',
  walletAsked: 'Veuillez confirmer dans {wallet}.',
  walletSent:
    'Dès que le réseau affichera votre paiement, vous le verrez ici. Ne payez pas une seconde fois.',
  walletOverdue:
    'Votre paiement n’est pas encore arrivé. Vérifiez dans {wallet} : tant qu’il y est en attente, il peut encore arriver. Ne payez à nouveau que s’il a échoué ou a été annulé.',
  walletReverted:
    'Le paiement de {wallet} a échoué sur le réseau : rien n’a été payé, hormis les frais. Vérifiez-le dans {wallet} avant de payer à nouveau.',
  walletRefused: 'Non confirmé dans {wallet}. Rien n’a été envoyé.',
  walletWrongNetwork: '{wallet} est sur un autre réseau. Passez à {chain} et réessayez.',
  walletFailed:
    'Il n’est pas certain que {wallet} ait envoyé votre paiement. Vérifiez dans {wallet} avant de payer à nouveau.',
  walletNotAsked:
    'Pas de réponse du serveur de la boutique : rien n’a été demandé à {wallet}. Réessayez dans un instant.',
  payAgain: 'J’ai vérifié : rien n’a été payé. Payer à nouveau',
  notSent: 'Il n’a pas été envoyé',
  walletNotReady: '{wallet} n’a pas répondu. Rien n’a été envoyé. Ouvrez-le, déverrouillez-le et réessayez.',
  walletUnable: '{wallet} ne peut pas l’envoyer d’ici. Veuillez payer à l’adresse.',

  order: 'Commande',
  paidAt: 'Date et heure',
  price: 'Prix',
  received: 'Reçu',
  tooMuch: 'En trop',
  missing: 'Manque',
  transaction: 'Transaction',
  viewTransaction: 'La voir dans l’explorateur de blocs',
  confirmations: 'Confirmations',
  countOf: '{count} sur {total}',
  stepSeen: 'Détecté',
  stepConfirming: 'Confirmation',
  stepDone: 'Terminé',
  backToShop: 'Retour à la boutique',
  contactShop: 'Contacter la boutique',
  printReceipt: 'Imprimer le reçu',

  offline: 'Pas de connexion. Nouvel essai en cours ; ce que vous avez payé n’est pas perdu.',
  offlineWait: 'Ne payez pas avant le retour de la connexion.',
  language: 'Langue',
  loading: 'Chargement de la demande de paiement',
  needsScript: 'Cette page a besoin de JavaScript.',
  tryAgain: 'Réessayer',

  notFound: 'Commande introuvable',
  linkNotValid: 'Lien non valide',
  linkNotValidHint:
    'Ce lien de paiement n’est pas valide. Retournez à la boutique et ouvrez-le de nouveau. Si vous avez déjà payé, indiquez-lui le numéro de commande.',
  noPage: 'Page introuvable',
  noPageHint:
    'Il n’y a pas de page à cette adresse. Ouvrez de nouveau le lien de paiement depuis la boutique.',
  tooManyRequests: 'Trop de requêtes',
  tooManyRequestsHint: 'Patientez et réessayez dans quelques secondes.',
  notAvailable: 'Indisponible',
  notAvailableHint: 'Réessayez dans un instant ; ce que vous avez payé n’est pas perdu.',
};
