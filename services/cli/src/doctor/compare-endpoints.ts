import { GatewayError } from '@opentill/domain/gateway-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readHeader, type ReachedEndpoint } from './endpoint.ts';
import { fail, ok, type Finding } from './finding.ts';

/** Deeper than common reorganisations, and recent enough that no node has pruned the block. */
const BLOCKS_BELOW_LOWEST_HEAD = 8;

/** An endpoint without the block counts as different: every node has the headers of its last blocks. */
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
  const answers = [...labelsOf].map(([answer, labels]) => `${labels.join(', ')}: ${answer}`);
  const mend = 'Compare with an explorer and replace the wrong endpoint: until then no payment is credited.';
  return [fail(found, `Block ${height} differs between endpoints (${answers.join('; ')}).`, mend)];
}

async function hashAt(client: ReachedEndpoint['client'], height: number): Promise<string> {
  try {
    return (await readHeader(client, height)).hash;
  } catch (error) {
    if (error instanceof GatewayError) return `none, ${error.code}`;
    throw error;
  }
}
