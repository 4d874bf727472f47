import type { NetworkConfig } from '@opentill/contracts/network-config';
import { decodeInteger, quantity } from './decode.ts';

export type DataFee = NetworkConfig['dataFee'];

type Fields = Readonly<Record<string, unknown>>;

/** Transactions of the chain itself, such as deposits from its base chain. They pay no fee, and nodes omit its fields. */
const DEPOSIT_TYPE = 0x7e;

/**
 * The cost of a transaction that `gasUsed` and `effectiveGasPrice` do not contain, in wei.
 * @throws ReaderError INCONSISTENT_ANSWER if a node omits `l1Fee`, because the books would lack it
 */
export function dataFeeOf(receipt: object, dataFee: DataFee): bigint {
  if (dataFee === undefined) return 0n;
  const fields = receipt as Fields;
  if (decodeInteger(fields['type'] ?? '0x0', 'receipt.type') === DEPOSIT_TYPE) return 0n;
  return wei(fields, 'l1Fee') + operatorFeeOf(fields);
}

/**
 * By the formulas of Isthmus and Jovian (ethereum-optimism/specs). Receipts since Jovian have a footprint scalar. Nodes
 * omit the parameters of the fee while they are zero.
 */
export function operatorFeeOf(receipt: object): bigint {
  const fields = receipt as Fields;
  const scaled = wei(fields, 'gasUsed') * wei(fields, 'operatorFeeScalar', '0x0');
  const isJovian = (fields['daFootprintGasScalar'] ?? null) !== null;
  return (isJovian ? scaled * 100n : scaled / 1_000_000n) + wei(fields, 'operatorFeeConstant', '0x0');
}

function wei(fields: Fields, name: string, fallback?: string): bigint {
  return quantity(fields[name] ?? fallback, `receipt.${name}`);
}
