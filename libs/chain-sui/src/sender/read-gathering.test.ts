import { bcs } from '@mysten/sui/bcs';
import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import { SUI_COIN_TYPE } from '../coin-type.ts';
import { programOf } from './payment-program.ts';
import { readGathering } from './read-gathering.ts';
import { encodeTransaction, windowOf, type NewProgram } from './transaction-bytes.ts';

const WALLET = `0x${'a'.repeat(64)}` as Address;
const OTHER = `0x${'b'.repeat(64)}` as Address;
const USDC = `0x${'d'.repeat(64)}::usdc::USDC` as TokenContract;
const DIGEST = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi';
const COIN = { id: `0x${'1'.repeat(64)}`, version: '7', digest: DIGEST, startVersion: null };

function bytesOf(program: NewProgram, { sender = WALLET, owner = WALLET } = {}): Uint8Array {
  const { id: objectId, version, digest } = COIN;
  return encodeTransaction({
    kind: { ProgrammableTransaction: program },
    sender,
    gasData: { payment: [{ objectId, version, digest }], owner, price: 500n, budget: 1_000n },
    expiration: windowOf(DIGEST, { first: 1, last: 1 }, 7),
  });
}

interface Sent {
  readonly to?: readonly Address[];
  readonly package?: string;
  readonly function?: string;
  readonly types?: readonly string[];
}

function outOfGas({ to = [WALLET], types = [SUI_COIN_TYPE], ...call }: Sent = {}): NewProgram {
  const addresses = to.map((one) => ({ Pure: { bytes: bcs.Address.serialize(one).toBytes() } }));
  return {
    inputs: [{ Pure: { bytes: bcs.u64().serialize(5n).toBytes() } }, ...addresses],
    commands: to.flatMap((_, place) => [
      { SplitCoins: { coin: { GasCoin: true as const }, amounts: [{ Input: 0 }] } },
      {
        MoveCall: {
          package: call.package ?? '0x2',
          module: 'coin',
          function: call.function ?? 'send_funds',
          typeArguments: [types[place] ?? SUI_COIN_TYPE],
          arguments: [{ NestedResult: [2 * place, 0] as [number, number] }, { Input: place + 1 }],
        },
      },
    ]),
  };
}

const paymentTo = (to: Address) =>
  programOf({
    from: WALLET,
    to,
    coinType: USDC,
    form: 'FUNDS',
    coins: [COIN],
    withdrawnBaseUnits: 0n,
    amountBaseUnits: 5n,
    hasRest: false,
  });

test('reads a transfer to the own wallet as a gathering, from coins or the gas coin', () => {
  expect(readGathering(bytesOf(outOfGas()), WALLET)).toEqual({ contract: null });
  expect(readGathering(bytesOf(paymentTo(WALLET)), WALLET)).toEqual({ contract: USDC });
});

test.each<readonly [string, Uint8Array]>([
  ['pays another address', bytesOf(outOfGas({ to: [OTHER] }))],
  ['also pays another address', bytesOf(outOfGas({ to: [WALLET, OTHER] }))],
  ['pays whole coins to another address', bytesOf(paymentTo(OTHER))],
  ['has another sender', bytesOf(outOfGas(), { sender: OTHER })],
  ['has another gas payer', bytesOf(outOfGas(), { owner: OTHER })],
  ['calls another package', bytesOf(outOfGas({ package: '0x3' }))],
  ['calls another function', bytesOf(outOfGas({ function: 'burn' }))],
  ['moves two assets', bytesOf(outOfGas({ to: [WALLET, WALLET], types: [SUI_COIN_TYPE, USDC] }))],
  ['is empty', bytesOf({ inputs: [], commands: [] })],
  ['has trailing bytes', Uint8Array.from([...bytesOf(outOfGas()), 0])],
  ['is not a transaction', new Uint8Array()],
])('does not read a transaction as a gathering when it %s', (_, bytes) => {
  expect(readGathering(bytes, WALLET)).toBeUndefined();
});
