import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { SendReply } from '@opentill/chain-sources/send-to-all';
import { GatewayError } from '@opentill/domain/gateway-error';

/** Nodes report the reason as text (crates/sui-types/src/error.rs). The test of this file has the known texts. */
const EXPIRED = /transaction expired|epoch .* (?:not|is) valid/i;
const LACKS_FUNDS =
  /withdraw reservation|lower than the needed amount|insufficient (?:funds|balance|gas)|InsufficientBalance/i;

/** Any error that is not a rejection of the transaction itself is UNKNOWN: the transaction may have been executed. */
export function outcomeOfFailure(error: unknown): SendReply {
  if (!(error instanceof GatewayError)) return { outcome: 'UNKNOWN', fault: 'RPC_UNAVAILABLE' };
  const fault = error.code as ReaderErrorCode;
  const said = boundedText(error.message);
  if (fault !== 'RPC_REFUSED') return { outcome: 'UNKNOWN', said, fault };
  // Executed and final, with other signatures of the same keys.
  if (error.context['status'] === 'ABORTED') return { outcome: 'KNOWN', said };
  if (EXPIRED.test(said)) return { outcome: 'EXPIRED', said };
  return { outcome: LACKS_FUNDS.test(said) ? 'NO_FUNDS' : 'REFUSED', said };
}
