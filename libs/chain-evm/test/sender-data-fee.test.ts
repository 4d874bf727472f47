import { computeAddress, concat, getBytes, SigningKey, toBeHex } from 'ethers';
import { afterEach, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent, Prepared } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { createEvmSender } from '../src/sender/create-sender.ts';
import { answering, scriptedNode, type Call, type ScriptedNode } from './scripted-node.ts';

const KEY = new SigningKey(`0x${'42'.repeat(32)}`);
const WALLET = computeAddress(KEY.publicKey).toLowerCase() as Address;
const ORACLE = '0x420000000000000000000000000000000000000f';
const GET_L1_FEE = '0x49948e0e';
const PAYMENT: PaymentIntent = {
  from: WALLET,
  contract: null,
  to: `0x${'ab'.repeat(20)}` as Address,
  amountBaseUnits: baseUnits(1n),
};
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`;

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
});

/** Charges 1 wei for each byte that `getL1Fee` receives, and `operator(gas)`; undefined: the call reverts. */
async function nodeThat(l1Fee: (bytes: number) => unknown, operator: (gas: number) => number | undefined) {
  const resultOf = ({ method, params }: Call): unknown => {
    if (method === 'eth_estimateGas') return '0x5208';
    if (method === 'eth_feeHistory') return { baseFeePerGas: ['0x1', '0x1'], gasUsedRatio: [0.5] };
    const { to, data } = params[0] as { to: string; data: string };
    if (to !== ORACLE) return '0x';
    const argument = Number(`0x${data.slice(10 + (data.startsWith(GET_L1_FEE) ? 64 : 0)).slice(0, 64)}`);
    if (data.startsWith(GET_L1_FEE)) return l1Fee(argument);
    const fee = operator(argument);
    return fee === undefined ? undefined : word(fee);
  };
  const node = await scriptedNode((calls, isBatch) => {
    const answer = answering(resultOf)(calls, isBatch) as { body: Record<string, unknown>[] };
    if (isBatch)
      for (const item of answer.body)
        if (item['result'] === undefined) item['error'] = { code: 3, message: 'execution reverted' };
    return answer;
  });
  nodes.push(node);
  return node.url;
}

async function prepared(urls: readonly string[], dataFee?: 'op-stack'): Promise<Prepared | undefined> {
  return (await senderOf(urls, dataFee).prepare([PAYMENT]))[0];
}

function senderOf(urls: readonly string[], dataFee?: 'op-stack') {
  const sign = (_: Address, digest: Uint8Array) => {
    const { r, s, yParity } = KEY.sign(digest);
    return Promise.resolve(getBytes(concat([r, s, toBeHex(yParity)])));
  };
  return createEvmSender(
    {
      chain: 'BASE',
      chainId: 56,
      rpcUrls: urls,
      blockTimeMs: 2_000,
      maxBlockRange: 100,
      tokens: [],
      ...(dataFee && { dataFee }),
      payouts: { minPriorityFeePerGas: '1', maxPriorityFeePerGas: '9', maxFeePerGas: '9' },
    },
    { backend: { addresses: [WALLET], sign } },
  );
}

test('prepare doubles the data fee and adds the operator fee of its gas', async () => {
  let asked = 0;
  const url = await nodeThat(
    (bytes) => word((asked = bytes)),
    (gas) => 1_000 + gas * 2,
  );
  const gasLimit = 26_250n; // 21,000 and a quarter
  const fee = (await prepared([url], 'op-stack')) as { dataFeeBaseUnits?: bigint };
  expect(asked).toBeGreaterThan(30); // the bytes of the unsigned transaction
  expect(fee).toEqual({
    kind: 'READY',
    gasLimit,
    dataFeeBaseUnits: BigInt(2 * asked) + 1_000n + 2n * gasLimit,
  });
});

test('prepare asks no oracle where the gas includes all costs', async () => {
  const url = await nodeThat(
    () => expect.unreachable(),
    () => expect.unreachable(),
  );
  expect(await prepared([url])).toEqual({ kind: 'READY', gasLimit: 26_250n });
});

test('takes the higher data fee of two sources, and 0 where the oracle is older', async () => {
  const urls = await Promise.all(
    [5, 7].map((fee) =>
      nodeThat(
        () => word(fee),
        () => undefined,
      ),
    ),
  );
  expect(await prepared(urls, 'op-stack')).toMatchObject({ dataFeeBaseUnits: 14n });
});

test('a cancel has the data fee of its own bytes, and other calls that of now', async () => {
  const url = await nodeThat(
    (bytes) => word(bytes),
    (gas) => gas,
  );
  const sender = senderOf([url], 'op-stack');
  const cancel = await sender.signCancel(WALLET, 7, { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n });
  const [ofCancel, ofPayment] = (await sender.dataFees?.([
    { wallet: WALLET, intent: null, gasLimit: 26_250n },
    { wallet: WALLET, intent: { ...PAYMENT, contract: WALLET as string as TokenContract }, gasLimit: 10n },
  ])) ?? [0n, 0n];
  expect(cancel.terms.dataFeeBaseUnits).toBe(ofCancel);
  expect(ofCancel).toBeGreaterThan(26_250n + 60n);
  expect(ofPayment! - 10n).toBeGreaterThan(ofCancel! - 26_250n + 2n * 68n); // two words and a selector
  expect(senderOf([url]).dataFees).toBeUndefined();
});

test('a data fee of 0 is known, and a refused one leaves the others known', async () => {
  const free = await nodeThat(
    () => word(0),
    () => 0,
  );
  expect(await prepared([free], 'op-stack')).toMatchObject({ dataFeeBaseUnits: 0n });
  let asked = 0;
  const url = await nodeThat(
    () => ((asked += 1) === 1 ? undefined : word(3)),
    () => 0,
  );
  const call = { wallet: WALLET, intent: PAYMENT, gasLimit: 10n };
  expect(await senderOf([url], 'op-stack').dataFees?.([call, call])).toEqual([undefined, 6n]);
});

test('prepare fails and names the setting where the oracle answers no fee', async () => {
  const url = await nodeThat(
    () => '0x',
    () => 0,
  );
  expect(await prepared([url], 'op-stack').catch((error: unknown) => error)).toMatchObject({
    code: 'INCONSISTENT_ANSWER',
    message: expect.stringContaining('dataFee'),
  });
});
