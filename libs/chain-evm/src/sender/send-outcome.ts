import type { ReaderError } from '@opentill/chain/reader-error';
import type { SendOutcome } from '@opentill/chain/wallet-sender';

/** Best first: one node's acceptance outweighs another's rejection. */
const ORDER: readonly SendOutcome[] = [
  'ACCEPTED',
  'KNOWN',
  'NONCE_TOO_LOW',
  'UNDERPRICED',
  'NO_GAS_MONEY',
  'REFUSED',
  'UNKNOWN',
];

/**
 * First match counts. Codes are useless: -32000 for everything, or another meaning at each vendor. The test of this
 * file lists the wordings.
 */
const BY_WORDING: readonly (readonly [RegExp, SendOutcome])[] = [
  [
    /already (?:known|imported|exists?|submitted|pending|queued|mined|in (?:the )?(?:tx ?|transaction )?(?:pool|mempool|cache|queue))|known transaction|AlreadyKnown|ALREADY_EXISTS|existing tx with same hash|(?:^|[:\s])mined$/i,
    'KNOWN',
  ],
  [
    /nonce (?:is |provided for the transaction is |provided is )?too (?:low|small)|OldNonce|nonce (?:has )?(?:already )?(?:been )?used|STALE: /i,
    'NONCE_TOO_LOW',
  ],
  // Compared with another transaction of the same nonce, or with the minimum of the node or the next block.
  [
    /underpriced|replacement (?:transaction )?(?:not allowed|fee too low)|ReplacementNotAllowed|could not replace existing|another transaction with same nonce/i,
    'UNDERPRICED',
  ],
  [
    /fee ?too ?low|FEE_TOO_LOW|FeeTooLow|gas price (?:\S+ )?(?:is |supplied is )?too low|gas price (?:is )?below|gas price \S+ is too low|effective priority fee .*too low/i,
    'UNDERPRICED',
  ],
  [
    /(?:fee ?cap|fee per gas|max ?fee(?: ?per ?gas)?|gas price|tip cap|priority fee(?: per gas)?)\b[^:]{0,40}\b(?:less|lower|below|minimum)\b|(?:below|less than|lower than) (?:the )?(?:current |block )*base ?fee|minimum gas (?:price|tip)/i,
    'UNDERPRICED',
  ],
  [
    /insufficient (?:funds|balance|eth\b)|InsufficientFunds|upfront cost exceeds|(?:not|n't) have enough (?:funds|balance)|not enough (?:funds|balance)|insufficient max ?fee ?per ?gas for sender balance|exceeds (?:the )?(?:account |sender )?balance/i,
    'NO_GAS_MONEY',
  ],
  // The node may accept it later: when it has room, has caught up, or has received the earlier nonces.
  [
    /(?:pool|queue|mempool)\b[^:]{0,20}\b(?:full|overflow|limit|capacity)|pool size|account limit exceeded|in-flight transaction limit|exceeded capacity|spammer|too many pending/i,
    'UNKNOWN',
  ],
  [
    /nonce (?:is )?too (?:high|far|distant)|nonce ?gap|gapped[- ]nonce|NONCE_TOO_FAR|tries to replace pending|already reserved|not (?:yet )?(?:in sync|synced|enabled)|syncing|try again|retry/i,
    'UNKNOWN',
  ],
  [
    /intrinsic gas|(?:exceeds|exceeded|above|over) (?:the )?(?:block |max(?:imum)? )?(?:tx |transaction )?gas limit|gas limit (?:reached|too high|exceeded|exceeds)|GasLimitExceeded|exceeds block gas limit|fee cap exceeded|exceeds the configured cap|oversized|\brlp\b|invalid (?:sender|signature|chain ?id|transaction)|type .{0,20}not supported|higher than max fee/i,
    'REFUSED',
  ],
];

/** Faults, limits and rejections that may pass are UNKNOWN. */
export function sendOutcomeOf(refusal: ReaderError): SendOutcome {
  const { said } = refusal.context;
  const worded = typeof said === 'string' ? BY_WORDING.find(([wording]) => wording.test(said)) : undefined;
  if (worded !== undefined) return worded[1];
  return refusal.code === 'RPC_REFUSED' ? 'REFUSED' : 'UNKNOWN';
}

export function bestOutcome(outcomes: readonly (SendOutcome | undefined)[]): SendOutcome {
  return ORDER.find((outcome) => outcomes.includes(outcome)) ?? 'UNKNOWN';
}
