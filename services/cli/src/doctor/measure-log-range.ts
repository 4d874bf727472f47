import { logsRequest } from '@opentill/chain-evm/block-requests';
import { isReaderError } from '@opentill/chain/reader-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { ReachedEndpoint } from './endpoint.ts';
import { findingOf, ok, sentence, type Finding } from './finding.ts';

const SIZES = [1, 10, 100, 1_000, 10_000];
/** Several nodes may serve one URL, and some may not have the newest blocks. */
const BLOCKS_BELOW_HEAD = 2;

/** Increases the range, up to the scanner's, until the provider refuses. */
export async function measureLogRange(endpoint: ReachedEndpoint, network: NetworkConfig): Promise<Finding> {
  const found = { subject: endpoint.label, check: 'eth_getLogs' };
  const wanted = Math.min(network.maxBlockRange, endpoint.config.maxBlockRange ?? Infinity);
  const to = Math.max(0, endpoint.head.height - BLOCKS_BELOW_HEAD);
  const sizes = [...SIZES.filter((size) => size < wanted), wanted].filter((size) => size <= to + 1);
  const tokens = new Set(network.tokens.flatMap(({ contract }) => (contract === null ? [] : [contract])));
  if (tokens.size === 0) return ok(found, 'No token is configured: no logs are read here.');
  let answered = 0;
  for (const size of sizes) {
    try {
      await endpoint.client.batch([logsRequest(tokens, to - size + 1, to)]);
      answered = size;
    } catch (error) {
      return refusal(error, { ...found, answered, size });
    }
  }
  if (answered === wanted) return ok(found, `The logs of ${wanted} blocks come in one call.`);
  const detail = `The logs of ${answered} blocks come in one call; the chain is too short for ${wanted}.`;
  return ok(found, detail);
}

function refusal(
  error: unknown,
  asked: {
    readonly subject: string;
    readonly check: string;
    readonly answered: number;
    readonly size: number;
  },
): Finding {
  const { subject, check, answered, size } = asked;
  if (!(error instanceof GatewayError) || isReaderError(error, 'RPC_RATE_LIMITED'))
    return findingOf(error, subject, check);
  const words = `the provider says: ${error.message}`;
  if (answered === 0) {
    return {
      outcome: 'fail',
      subject,
      check,
      detail: sentence(`the logs of a single block are refused; ${words}`),
      mend: 'Use an endpoint that offers eth_getLogs (the public dataseeds of BNB Smart Chain do not).',
    };
  }
  const suggested = error.context['suggestedBlocks'];
  const limit =
    typeof suggested === 'number' && suggested >= answered && suggested < size ? suggested : answered;
  return {
    outcome: 'warn',
    subject,
    check,
    detail: sentence(`the logs of ${answered} blocks come in one call, those of ${size} do not; ${words}`),
    mend: `Set "maxBlockRange": ${limit} for this URL, so that larger ranges are not requested.`,
  };
}
