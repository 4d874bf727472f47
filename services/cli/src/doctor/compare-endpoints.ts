import { GatewayError } from '@opentill/domain/gateway-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readHeader, type ReachedEndpoint } from './endpoint.ts';
import { fail, ok, type Finding } from './finding.ts';

/** Deeper than the forks of every day, and not so deep that a node has thrown the block away. */
const BLOCKS_BELOW_LOWEST_HEAD = 8;

/**
 * Whether all endpoints name one hash at a height that all of them have. One that has not got the block counts as an
 * endpoint that answers otherwise: every node has the headers of its last blocks. Nothing with one endpoint.
 */
export async function compareEndpoints(
  endpoints: readonly ReachedEndpoint[],
  network: NetworkConfig,
): Promise<readonly Finding[]> {
  if (endpoints.length < 2) return [];
  const lowest = Math.min(...endpoints.map(({ head }) => head.height));
  const height = Math.max(0, lowest - BLOCKS_BELOW_LOWEST_HEAD);
  const labelsOf = new Map<string, string[]>();
  for (const { client, label } of endpoints) {
    const answer = await hashAt(client, height);
    labelsOf.set(answer, [...(labelsOf.get(answer) ?? []), label]);
  }
  const found = { subject: network.chain, check: 'same chain' };
  const [only, ...others] = labelsOf.keys();
  if (only !== undefined && others.length === 0) {
    const detail = `All ${endpoints.length} endpoints name the same block ${height}.`;
    return [ok(found, detail)];
  }
  const said = [...labelsOf].map(([answer, labels]) => `${labels.join(', ')}: ${answer}`);
  const mend =
    'Compare with an explorer and take another endpoint for the wrong one: nothing is credited meanwhile.';
  return [fail(found, `Block ${height} is not the same everywhere (${said.join('; ')}).`, mend)];
}

/** The hash, or why there is none. */
async function hashAt(client: ReachedEndpoint['client'], height: number): Promise<string> {
  try {
    return (await readHeader(client, height)).hash;
  } catch (error) {
    if (error instanceof GatewayError) return `none, ${error.code}`;
    throw error;
  }
}
