import { isAboveCap } from '@opentill/chain-evm/sender/fee-bounds';
import { decodeMarket, feeHistoryRequest } from '@opentill/chain-evm/sender/read-prices';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { payoutTermsOf, type PayoutTerms } from '@opentill/contracts/payout-terms';
import { formatAmount } from '@opentill/domain/money';
import type { ReachedEndpoint } from './endpoint.ts';
import { findingOf, ok, warn, type Finding } from './finding.ts';

const BLOCKS = 10;
const MEDIAN_PERCENTILE = 50;
const GWEI_DECIMALS = 9;

/** Prices must be within the file's limits. Never fails: payments are seen at any price. */
export async function checkFees(
  endpoint: ReachedEndpoint,
  network: NetworkConfig,
): Promise<readonly Finding[]> {
  const terms = payoutTermsOf(network);
  return terms === undefined ? [] : [await checkPrices(endpoint, terms)];
}

async function checkPrices({ label, client }: ReachedEndpoint, terms: PayoutTerms): Promise<Finding> {
  const found = { subject: label, check: 'fees' };
  try {
    const [raw] = await client.batch([feeHistoryRequest(BLOCKS, [MEDIAN_PERCENTILE])]);
    const { baseFeePerGas, tipPerGas } = decodeMarket(raw);
    const detail = `A payout costs ${gwei(baseFeePerGas)} gwei per gas and a tip of ${gwei(tipPerGas)}.`;
    const cap = `maxFeePerGas is ${gwei(terms.maxFeePerGas)} gwei`;
    if (isAboveCap(baseFeePerGas, terms))
      return warn(found, detail, `Payouts wait: ${cap}; raise it or wait.`);
    if (tipPerGas > terms.maxPriorityFeePerGas) {
      const mend = `Payouts may wait long: maxPriorityFeePerGas is ${gwei(terms.maxPriorityFeePerGas)} gwei.`;
      return warn(found, detail, mend);
    }
    return ok(found, detail);
  } catch (error) {
    return { ...findingOf(error, found.subject, found.check), outcome: 'warn' };
  }
}

function gwei(wei: bigint): string {
  return formatAmount(wei, GWEI_DECIMALS, 0);
}
