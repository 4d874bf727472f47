import { expect, test } from 'vitest';
import { dataFeeOf } from './data-fee.ts';

const RECEIPT = { type: '0x2', gasUsed: '0x5208', effectiveGasPrice: '0x1', l1Fee: '0x64' };

test('a receipt of the OP Stack costs its data and the operator fee in addition to gas', () => {
  expect(dataFeeOf(RECEIPT, 'op-stack')).toBe(100n);
});

test('receipts with a footprint scalar have the operator fee of Jovian', () => {
  const isthmus = { ...RECEIPT, operatorFeeScalar: '0x1e8480', operatorFeeConstant: '0x7' };
  expect(dataFeeOf(isthmus, 'op-stack')).toBe(100n + 21_000n * 2n + 7n);
  const jovian = { ...isthmus, daFootprintGasScalar: '0x190' };
  expect(dataFeeOf(jovian, 'op-stack')).toBe(100n + 21_000n * 2_000_000n * 100n + 7n);
});

test('the fields of a data fee are ignored where the chain has none', () => {
  expect(dataFeeOf(RECEIPT, undefined)).toBe(0n);
});

test('a node that omits the data fee is not believed, except for deposits', () => {
  const { l1Fee: _, ...without } = RECEIPT;
  expect(() => dataFeeOf(without, 'op-stack')).toThrow(
    expect.objectContaining({ code: 'INCONSISTENT_ANSWER' }),
  );
  expect(dataFeeOf({ ...without, type: '0x7e' }, 'op-stack')).toBe(0n);
});
