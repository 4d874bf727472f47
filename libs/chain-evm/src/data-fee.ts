import type { NetworkConfig } from '@opentill/contracts/network-config';
import { decodeInteger, quantity } from './decode.ts';

export type DataFee = NetworkConfig['dataFee'];

/** Transactions of the chain itself, such as deposits from its base chain. They pay no fee, and nodes omit its fields. */
const DEPOSIT_TYPE = 0x7e;

/**
 * The cost of a transaction that `gasUsed` and `effectiveGasPrice` do not contain, in wei. OP Stack: `l1Fee`, and the
 * operator fee `gasUsed * operatorFeeScalar * 100 + operatorFeeConstant` (ethereum-optimism/specs, Jovian). Nodes omit
 * the parameters of the operator fee while they are zero.
 * @throws ReaderError INCONSISTENT_ANSWER if a node omits `l1Fee`, because the books would lack it
 */
export function dataFeeOf(receipt: object, dataFee: DataFee): bigint {
  if (dataFee === undefined) return 0n;
  const fields = receipt as Readonly<Record<string, unknown>>;
  if (decodeInteger(fields['type'] ?? '0x0', 'receipt.type') === DEPOSIT_TYPE) return 0n;
  const wei = (name: string, fallback?: string) => quantity(fields[name] ?? fallback, `receipt.${name}`);
  const operatorFee =
    wei('gasUsed') * wei('operatorFeeScalar', '0x0') * 100n + wei('operatorFeeConstant', '0x0');
  return wei('l1Fee') + operatorFee;
}
