import { randomInt } from 'node:crypto';
import { fromBase64 } from '@mysten/sui/utils';
import { createBcsWriter } from './bcs-writer.ts';
import { coinObjectType, FRAMEWORK } from './coin-type.ts';
import type { Chain } from './chain/chain.ts';
import { submit } from './chain/submit.ts';
import { transactionBytes } from './chain/transaction.ts';
import type { DevKeypair } from './dev-accounts.ts';

/** party: a coin ordered by consensus, which ordinary transactions cannot use. */
export type GiftForm = 'coin' | 'address' | 'party';

export interface Gift {
  readonly to: string;
  readonly coinType: string;
  readonly amount: bigint;
  readonly form: GiftForm;
}

type Program = Extract<
  Parameters<typeof transactionBytes>[0]['kind'],
  { ProgrammableTransaction: unknown }
>['ProgrammableTransaction'];
type Commands = Program['commands'];

const GIFT_BUDGET_MIST = 50_000_000n;

export async function sendGift(
  chain: Chain,
  from: DevKeypair,
  gift: Gift,
  consensusMs: number,
): Promise<string> {
  const sender = from.toSuiAddress();
  const { number } = chain.epoch;
  const withdrawal = {
    reservation: { MaxAmountU64: gift.amount },
    typeArg: { Balance: gift.coinType },
    withdrawFrom: { Sender: true as const },
  };
  const recipient = createBcsWriter().address(gift.to).finish();
  const bytes = transactionBytes({
    kind: {
      ProgrammableTransaction: {
        inputs: [{ FundsWithdrawal: withdrawal }, { Pure: { bytes: recipient } }],
        commands: commandsOf(gift),
      },
    },
    sender,
    gasData: {
      payment: [],
      owner: sender,
      price: chain.parameters.referenceGasPrice,
      budget: GIFT_BUDGET_MIST,
    },
    expiration: {
      ValidDuring: {
        minEpoch: number,
        maxEpoch: number + 1n,
        minTimestamp: null,
        maxTimestamp: null,
        chain: chain.id,
        nonce: randomInt(2 ** 32),
      },
    },
  });
  const { signature } = await from.signTransaction(bytes);
  const record = await submit(chain, { bytes, signatures: [fromBase64(signature)] }, consensusMs);
  return record.digest;
}

function commandsOf({ coinType, form }: Gift): Commands {
  const call = (module: string, name: string, types: readonly string[], args: readonly object[]): object => ({
    MoveCall: { package: FRAMEWORK, module, function: name, typeArguments: types, arguments: args },
  });
  const [money, recipient] = [{ Input: 0 }, { Input: 1 }];
  const first = { Result: 0 };
  const redeem = call('coin', 'redeem_funds', [coinType], [money]);
  const commands = {
    coin: [redeem, { TransferObjects: { objects: [first], address: recipient } }],
    address: [redeem, call('coin', 'send_funds', [coinType], [first, recipient])],
    party: [
      redeem,
      call('party', 'single_owner', [], [recipient]),
      call('transfer', 'public_party_transfer', [coinObjectType(coinType)], [first, { Result: 1 }]),
    ],
  };
  return commands[form] as unknown as Commands;
}
