/** `{name}` is a placeholder; every language has the same placeholders in the same text. */
export const en = {
  waiting: 'Waiting for your payment',
  partial: 'Part of the payment has arrived',
  checking: 'Checking for news',
  timeOver: 'The time to pay is over',
  reorganised: 'The network is reordering your payment',
  confirming: 'Payment seen, waiting for confirmations',
  paid: 'Paid. Thank you!',
  expired: 'This payment request has expired',
  underpaid: 'Expired: too little has arrived',
  late: 'Expired: your payment came too late',
  failed: 'This payment has failed',

  payTo: 'Pay {merchant}',
  paymentRequest: 'Payment request',
  testNetwork: 'Test network: no real money',
  hostedBy: 'Payment page of {host}',

  partialHint: '{received} of {amount} has arrived. Please send the rest to the same address.',
  checkingHint: 'This page was paused. Please do not send anything until it is up to date again.',
  timeOverHint:
    'Please do not send anything now. If you have already paid, wait a moment: the network is still being checked.',
  reorganisedHint:
    'Please do not send it again. The network is putting its blocks in another order; your payment will be found in them automatically.',
  confirmingHint: 'There is nothing left to do. You may close this page; the shop is notified automatically.',
  finalHint: 'The network is making it final. This can take a few minutes.',
  paidHint: 'The shop is notified automatically.',
  tooMuchHint: '{amount} more than the price has arrived. It is recorded; please ask the shop about it.',
  expiredHint: 'Please do not send anything to its address. Go back to the shop and start the payment again.',
  underpaidHint:
    '{received} of {amount} has arrived. It is recorded and not lost. Please contact the shop and give the order number.',
  lateHint:
    'What you sent has arrived and is recorded. It is not lost. Please contact the shop and give the order number.',
  failedHint: 'Please contact the shop and give the order number. Whatever has arrived is recorded.',

  unmatchedTitle: 'A payment has arrived that does not count',
  unmatchedToken: '{amount} has arrived. This order expects {symbol}.',
  unmatchedChain: '{amount} has arrived on {chain}. This order expects {symbol} on {expected}.',
  unmatchedLate: '{amount} has arrived after the time to pay.',
  unmatchedShort: '{amount} has arrived, which is less than the price.',
  unmatchedAfter: '{amount} has arrived although the order was already paid.',
  unmatchedFailed: '{amount} has arrived. The order was refused.',
  unmatchedHint:
    'It is recorded and not lost. Please do not send it again: contact the shop and give the order number.',

  timeLeft: 'Time left',
  tooLate: 'Too late for this payment: start again',
  runningOut:
    'A payment sent now may arrive too late. If you have not paid yet, please start again in the shop. If you have paid, wait here.',
  amount: 'Amount',
  amountMissing: 'Still to send',
  network: 'Network',
  address: 'Address',
  warning: 'Send only {symbol} on {chain}. Anything else, or the same coin on another network, may be lost.',
  codeOfPayment: 'QR code of the payment: address, amount and network',
  codeOfAddress: 'QR code of the address',
  showCode: 'Show QR code',
  withAmount: 'With amount',
  withAmountHint: 'Fills in amount and network. Exchanges and some wallets may not understand it.',
  addressOnly: 'Address only',
  addressOnlyHint: 'Every wallet and exchange can read it. Enter the amount by hand.',
  chooseCode: 'What the QR code holds',
  copyAmount: 'Copy amount',
  copyAddress: 'Copy address',
  copyOrder: 'Copy order number',
  copyTransaction: 'Copy transaction number',
  copied: 'Copied',
  copyFailed: 'Could not copy. Please select it and copy it by hand.',

  openWallet: 'Open in a wallet app',
  openIn: 'Open in {wallet}',
  payWith: 'Pay with {wallet}',
  walletAsked: 'Please confirm in {wallet}.',
  walletSent:
    'Sent. As soon as the network shows your payment, you will see it here. Please do not pay a second time.',
  walletOverdue:
    'Your payment has not arrived yet. Please look into {wallet}: while it is pending there, it may still arrive. Pay again only if it has failed or was cancelled.',
  walletReverted:
    'The payment from {wallet} has failed on the network: nothing was paid apart from the fee. Please check this in {wallet} before you pay again.',
  walletRefused: 'Not confirmed in {wallet}. Nothing was sent.',
  walletWrongNetwork: '{wallet} is on another network. Please switch it to {chain} and try again.',
  walletFailed:
    'It is not certain whether {wallet} has sent your payment. Please check in {wallet} before you pay again.',
  walletNotAsked:
    'No answer from the shop’s server, so {wallet} was not asked. Please try again in a moment.',
  payAgain: 'I have checked: nothing was paid. Pay again',
  walletNotReady: '{wallet} did not answer. Nothing was sent. Please open and unlock it, then try again.',
  walletUnable: '{wallet} cannot send this from here. Please pay to the address.',

  order: 'Order',
  price: 'Price',
  received: 'Received',
  tooMuch: 'Too much',
  missing: 'Missing',
  transaction: 'Transaction',
  viewTransaction: 'View it in the block explorer',
  confirmations: 'Confirmations',
  countOf: '{count} of {total}',
  stepSeen: 'Seen',
  stepConfirming: 'Confirming',
  stepDone: 'Done',
  backToShop: 'Back to the shop',
  contactShop: 'Contact the shop',
  printReceipt: 'Print the receipt',

  offline: 'No connection. Trying again; what you have paid is not lost.',
  language: 'Language',
  loading: 'Loading the payment request',
  needsScript: 'This page needs JavaScript.',
  tryAgain: 'Try again',

  notFound: 'Order not found',
  notFoundHint: 'There is no such payment request.',
  linkNotValid: 'Link not valid',
  linkNotValidHint:
    'This payment link is not valid. Please go back to the shop and open it again. If you have already paid, give the shop the order number.',
  noPage: 'Page not found',
  noPageHint: 'There is no page at this address. Please open the payment link from the shop again.',
  tooManyRequests: 'Too many requests',
  tooManyRequestsHint: 'Please slow down and try again in a few seconds.',
  notAvailable: 'Not available',
  notAvailableHint: 'Please try again in a moment; what you have paid is not lost.',
};

export type TextName = keyof typeof en;
export type Texts = Readonly<Record<TextName, string>>;
