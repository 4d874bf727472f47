import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import type { EvmSources } from '../sources.ts';
import { decodeInteger } from '../decode.ts';
import { GAS_LIMIT_MAX } from './sign-payment.ts';

export async function estimateCancel(sources: EvmSources, wallet: Address): Promise<bigint> {
  const call = { from: wallet, to: wallet, value: '0x0' };
  return sources.run(async (source, options) => {
    const request = { method: 'eth_estimateGas', params: [call, 'latest'] };
    const [raw] = await source.batch([request], options);
    const gas = decodeInteger(raw, 'an estimate of gas');
    const gasLimit = BigInt(Math.ceil(gas * 1.25));
    if (gas > 0 && gasLimit <= GAS_LIMIT_MAX) return gasLimit;
    throw readerError('INCONSISTENT_ANSWER', 'the gas estimate is malformed', { gas });
  });
}
