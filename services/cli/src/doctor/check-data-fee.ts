import { GAS_PRICE_ORACLE } from '@opentill/chain-evm/sender/estimate-data-fee';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { ReachedEndpoint } from './endpoint.ts';
import { compareDataFee, type DataFeeComparison } from '@opentill/chain-evm/sender/compare-data-fee';
import { fail, findingOf, ok, type Finding } from './finding.ts';

/** A chain of the OP Stack has the oracle at a fixed address. Without `dataFee`, books and balances lack its fee. */
export async function checkDataFee(
  { client, label, head }: ReachedEndpoint,
  { dataFee }: NetworkConfig,
): Promise<Finding> {
  const found = { subject: label, check: 'data fee' };
  try {
    const [code] = await client.batch([{ method: 'eth_getCode', params: [GAS_PRICE_ORACLE, 'latest'] }]);
    const hasOracle = typeof code === 'string' && code.length > 2;
    const detail = `${hasOracle ? 'A' : 'No'} gas price oracle of the OP Stack at ${GAS_PRICE_ORACLE}.`;
    if (hasOracle && dataFee === 'op-stack') return judge(found, await compareDataFee(client, head.height));
    if (!hasOracle && dataFee === undefined) return ok(found, detail);
    const remedy = hasOracle
      ? 'Set "dataFee": "op-stack" (chain add: --data-fee op-stack), or payouts and books lack the fee for data.'
      : 'Remove dataFee: this chain does not charge for data in that way.';
    return fail(found, detail, remedy);
  } catch (error) {
    return findingOf(error, found.subject, found.check);
  }
}

function judge(
  found: Pick<Finding, 'subject' | 'check'>,
  comparison: DataFeeComparison | undefined,
): Finding {
  if (comparison === undefined)
    return ok(found, 'The gas price oracle answers. The last blocks have no transaction to compare with.');
  const { txHash, estimated, charged, operatorFee } = comparison;
  const { byOracle, byReceipt } = operatorFee;
  if (byOracle !== byReceipt)
    return fail(
      found,
      `The operator fee of ${txHash} is ${byReceipt} wei by its receipt, and ${byOracle} wei by the gas price oracle.`,
      'Do not pay out on this chain: this version does not know its formula, so the books would be wrong.',
    );
  const detail = `${txHash} paid ${charged} wei for its data; estimate with room ${estimated} wei.`;
  if (charged <= estimated) return ok(found, detail);
  return fail(found, detail, 'Do not pay out on this chain: the signer would estimate its fees too low.');
}
