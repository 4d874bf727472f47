import type { ExpiringSendOutcome } from '@opentill/chain/expiring-sender';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { SendReply } from '@opentill/chain-sources/send-to-all';
import { objectIn } from '../node-value.ts';

/**
 * `code` of broadcasthex (java-tron `return.response_code`); any other code is UNKNOWN. A duplicate counts as accepted,
 * even if the node has only seen it (`rpc.trxCacheEnable`).
 */
const BY_CODE: Readonly<Record<string, ExpiringSendOutcome>> = {
  DUP_TRANSACTION_ERROR: 'KNOWN',
  TRANSACTION_EXPIRATION_ERROR: 'EXPIRED',
  TAPOS_ERROR: 'REFERENCE_UNKNOWN',
  BANDWITH_ERROR: 'NO_FUNDS',
  SIGERROR: 'REFUSED',
  TOO_BIG_TRANSACTION_ERROR: 'REFUSED',
  CONTRACT_VALIDATE_ERROR: 'REFUSED',
  CONTRACT_EXE_ERROR: 'REFUSED',
};
/** Contract errors differ only by their text. The test of this file has the known texts. */
const LACKS_FUNDS =
  /balance is not sufficient|insufficient balance|account \[?T\w{33}\]? does not exist|account resource insufficient/i;
const HEX = /^(?:[0-9a-f]{2})+$/;

/** SERVER_BUSY, NO_CONNECTION and the like concern only the node: UNKNOWN. */
export function sendOutcomeOf(raw: unknown, txHash: string): SendReply {
  const answer = objectIn(raw, 'answer to a transaction');
  const { code, txid, result } = answer;
  const said = boundedText(`${typeof code === 'string' ? code : 'no code'}: ${messageIn(answer)}`);
  if (txid !== undefined && txid !== txHash) return { outcome: 'UNKNOWN', said, wrongHash: true };
  if (result === true) return { outcome: 'ACCEPTED' };
  if (typeof code !== 'string') return { outcome: 'UNKNOWN', said };
  const isOfContract = code === 'CONTRACT_VALIDATE_ERROR' || code === 'CONTRACT_EXE_ERROR';
  if (isOfContract && LACKS_FUNDS.test(said)) return { outcome: 'NO_FUNDS', said };
  return { outcome: BY_CODE[code] ?? 'UNKNOWN', said };
}

export function messageIn({ message }: Readonly<Record<string, unknown>>): string {
  if (typeof message !== 'string') return '';
  return HEX.test(message) ? Buffer.from(message, 'hex').toString('utf8') : message;
}
