/** Maximum length of the envelope's `detail`. */
export const DETAIL_CHARACTERS_MAX = 600;

/** HTTP status and exact text: part of the contract of docs/api.md sections 1 to 4 and 9. */
export const API_ERRORS = {
  /** Not UTF-8, not JSON, not an object, a duplicate key, too deep or too many values. */
  BODY_NOT_JSON: { status: 400, msg: 'The request body is not valid JSON.' },
  DATA_BLANK: { status: 400, msg: 'The data cannot be left blank.' },
  /** Missing, null, or not `digits[.digits]` of at most 30 digits. */
  AMOUNT_BLANK: { status: 400, msg: 'The amount cannot be left blank.' },
  AMOUNT_ZERO: { status: 400, msg: 'The amount must be greater than zero.' },
  AMOUNT_TOO_MANY_DECIMALS: { status: 400, msg: 'The amount has too many decimals.' },
  /** Outside the token's configured minimum and maximum. */
  AMOUNT_OUT_OF_RANGE: { status: 400, msg: 'The amount is out of range.' },
  /** Not a decimal greater than zero with at most the minor units of its currency. */
  PRICE_INVALID: { status: 400, msg: 'The price is invalid.' },
  /** Not a code of ISO 4217. */
  CURRENCY_INVALID: { status: 400, msg: 'The currency is invalid.' },
  /** Not a list of 1 to 50 coins with `chain` and `symbol`. */
  ACCEPT_INVALID: { status: 400, msg: 'The accept is invalid.' },
  SYMBOL_BLANK: { status: 400, msg: 'The symbol cannot be left blank.' },
  /** Missing, or neither a preset nor a chain of the networks file. */
  CHAIN_BLANK: { status: 400, msg: 'The chain cannot be left blank.' },
  /** The symbol is not configured on the chain, or the chain is not enabled. */
  SYMBOL_UNSUPPORTED: { status: 400, msg: 'Unsupported symbol or chain' },
  /** The order cannot be paid in this coin. */
  OPTION_NOT_OFFERED: { status: 400, msg: 'The order does not accept this coin.' },
  CHAIN_UNSUPPORTED: { status: 400, msg: 'Unsupported chain' },
  RECEIVE_ADDRESS_BLANK: { status: 400, msg: 'The receiveAddress cannot be left blank.' },
  /** Wrong for the chain, the zero address, the token's contract, or an address of one of the gateway's wallets. */
  RECEIVE_ADDRESS_WRONG: { status: 400, msg: 'ReceiveAddress error' },
  UID_BLANK: { status: 400, msg: 'The uid cannot be left blank.' },
  UID_ZERO: { status: 400, msg: 'The uid cannot be zero.' },
  UID_INVALID: { status: 400, msg: 'The uid is invalid.' },
  ORDER_ID_BLANK: { status: 400, msg: 'The orderId cannot be left blank.' },
  ORDER_ID_INVALID: { status: 400, msg: 'The orderId is invalid.' },
  RETURN_URL_INVALID: { status: 400, msg: 'The returnUrl is invalid.' },
  DESCRIPTION_INVALID: { status: 400, msg: 'The description is invalid.' },
  EXPIRES_IN_INVALID: { status: 400, msg: 'The expiresIn is invalid.' },
  /** Missing, or not of the grammar of order ids. */
  LINK_ID_INVALID: { status: 400, msg: 'The linkId is invalid.' },
  /** Another member of a payment link, or of an operation on links. */
  LINK_INVALID: { status: 400, msg: 'The link is invalid.' },
  /** The request line or the URL cannot be parsed. */
  BAD_REQUEST: { status: 400, msg: 'Bad request' },
  SIGN_BLANK: { status: 401, msg: 'The sign cannot be left blank.' },
  TIMESTAMP_BLANK: { status: 401, msg: 'The timestamp cannot be left blank.' },
  NONCE_BLANK: { status: 401, msg: 'The nonce cannot be left blank.' },
  SIGN_WRONG: { status: 401, msg: 'Sign verification failed' },
  TIMESTAMP_EXPIRED: { status: 401, msg: 'Timestamp expired' },
  NONCE_USED: { status: 401, msg: 'Nonce already used' },
  ORDER_NOT_FOUND: { status: 404, msg: 'Order not found' },
  LINK_NOT_FOUND: { status: 404, msg: 'Link not found' },
  NOT_FOUND: { status: 404, msg: 'Not found' },
  METHOD_NOT_ALLOWED: { status: 405, msg: 'Method not allowed' },
  REQUEST_TIMEOUT: { status: 408, msg: 'Request timeout' },
  /** The same orderId with other contents or another order type. */
  ORDER_ID_EXISTS: { status: 409, msg: 'Order ID already exists.' },
  /** Paid, ended, or past its expiry: another coin can no longer be chosen. */
  ORDER_CLOSED: { status: 409, msg: 'The order is closed.' },
  /** The same linkId with other contents. */
  LINK_ID_EXISTS: { status: 409, msg: 'Link ID already exists.' },
  BODY_TOO_LARGE: { status: 413, msg: 'The request body is too large.' },
  /** Not `application/json`, or compressed. */
  MEDIA_TYPE_UNSUPPORTED: { status: 415, msg: 'Unsupported media type' },
  EXPECTATION_FAILED: { status: 417, msg: 'Expectation failed' },
  BALANCE_INSUFFICIENT: { status: 422, msg: 'Insufficient balance' },
  /** The coin has no valid rate in the currency; a choice: it is off its peg. */
  RATE_UNAVAILABLE: { status: 422, msg: 'Rate not available' },
  TOO_MANY_REQUESTS: { status: 429, msg: 'Too many requests. Please slow down.' },
  /** Too many refused signatures from an address that names no merchant, on a gateway with several. */
  MERCHANT_UNNAMED: {
    status: 429,
    msg: 'Too many refused signatures. Name the merchant: use its base URL, /m/<merchantId>.',
  },
  HEADERS_TOO_LARGE: { status: 431, msg: 'Request header fields too large' },
  INTERNAL: { status: 500, msg: 'Internal server error.' },
  SERVICE_UNAVAILABLE: { status: 503, msg: 'Service unavailable' },
  /** The chain's scanner has no cursor yet, or a choice names a coin that was disabled since the creation; for payouts also: `opentill setup` has not written the hot wallet. */
  CHAIN_NOT_READY: { status: 503, msg: 'Chain not ready' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly msg: string }>>;

export type ApiErrorCode = keyof typeof API_ERRORS;

/** The 409 for a payout without orderId whose signed data was accepted before as order `orderId`. */
export function duplicateOfOrderText(orderId: string): string {
  return `Duplicate of order ${orderId}`;
}
