import { GAS_PRICE_ORACLE } from '@opentill/chain-evm/sender/estimate-data-fee';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ReachedEndpoint } from './endpoint.ts';
import { fail, findingOf, ok, type Finding } from './finding.ts';

/** A chain of the OP Stack has the oracle at a fixed address. Without `dataFee`, books and balances lack its fee. */
export async function checkDataFee(
  { client, label }: ReachedEndpoint,
  { dataFee }: NetworkConfig,
): Promise<Finding> {
  const found = { subject: label, check: 'data fee' };
  try {
    const [code] = await client.batch([{ method: 'eth_getCode', params: [GAS_PRICE_ORACLE, 'latest'] }]);
    const hasOracle = typeof code === 'string' && code.length > 2;
    const detail = `${hasOracle ? 'A' : 'No'} gas price oracle of the OP Stack at ${GAS_PRICE_ORACLE}.`;
    if (hasOracle === (dataFee === 'op-stack')) return ok(found, detail);
    const remedy = hasOracle
      ? 'Set "dataFee": "op-stack" (chain add: --data-fee op-stack), or payouts and books lack the fee for data.'
      : 'Remove dataFee: this chain does not charge for data in that way.';
    return fail(found, detail, remedy);
  } catch (error) {
    return findingOf(error, found.subject, found.check);
  }
}
