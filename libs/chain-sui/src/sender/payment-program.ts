import { bcs } from '@mysten/sui/bcs';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { NewProgram } from './transaction-bytes.ts';

export interface CoinReference {
  readonly id: string;
  /** An owned coin is spent at exactly this version and digest. */
  readonly version: string;
  readonly digest: string;
  /** Version since which the owner holds a coin ordered by consensus (ConsensusAddressOwner). Null: an owned coin. */
  readonly startVersion: string | null;
}

/** Withdraws from the address balance where possible: a withdrawal uses up no object, so payments do not conflict. */
export interface PaymentPlan {
  readonly from: Address;
  readonly to: Address;
  readonly coinType: TokenContract;
  readonly amountBaseUnits: bigint;
  /** COIN: a new coin object, which every wallet shows. FUNDS: into the address balance, for own addresses. */
  readonly form: 'COIN' | 'FUNDS';
  readonly withdrawnBaseUnits: bigint;
  /** Spent whole. Required for FUNDS if the withdrawal does not cover the amount. */
  readonly coins: readonly CoinReference[];
  /** The coins exceed the amount; the rest goes into the sender's address balance. */
  readonly hasRest: boolean;
}

type MemberOf<T> = T extends Iterable<infer Member> ? Member : never;
type Input = MemberOf<NewProgram['inputs']>;
type Command = MemberOf<NewProgram['commands']>;
type Argument = { Input: number } | { Result: number } | { NestedResult: [number, number] };

export const FRAMEWORK = `0x${'2'.padStart(64, '0')}`;

export function programOf(plan: PaymentPlan): NewProgram {
  const { coins, withdrawnBaseUnits, amountBaseUnits, hasRest, form } = plan;
  const isCovered =
    coins.length > 0 ? withdrawnBaseUnits <= amountBaseUnits : withdrawnBaseUnits === amountBaseUnits;
  if (amountBaseUnits <= 0n || withdrawnBaseUnits < 0n || !isCovered || (hasRest && coins.length === 0))
    throw new RangeError('the funds of the payment do not match its amount');
  if (coins.length > 0) {
    if (form === 'COIN') throw new RangeError('coins can only be paid into address balances');
    return fromCoins(plan);
  }
  return form === 'COIN' ? toCoin(plan) : toFunds(plan);
}

function toCoin({ to, coinType, withdrawnBaseUnits }: PaymentPlan): NewProgram {
  return {
    inputs: [withdrawal(coinType, withdrawnBaseUnits), addressInput(to)],
    commands: [
      call('coin', 'redeem_funds', coinType, [{ Input: 0 }]),
      { TransferObjects: { objects: [{ Result: 0 }], address: { Input: 1 } } },
    ],
  };
}

function toFunds({ to, coinType, withdrawnBaseUnits }: PaymentPlan): NewProgram {
  return {
    inputs: [withdrawal(coinType, withdrawnBaseUnits), addressInput(to)],
    commands: [
      call('balance', 'redeem_funds', coinType, [{ Input: 0 }]),
      call('balance', 'send_funds', coinType, [{ Result: 0 }, { Input: 1 }]),
    ],
  };
}

/** Pays from whole coins and an address balance to another address balance; the rest returns. No object remains. */
function fromCoins(plan: PaymentPlan): NewProgram {
  const { from, to, coinType, coins, withdrawnBaseUnits, amountBaseUnits, hasRest } = plan;
  const inputs: Input[] = coins.map(coinInput);
  const commands: Command[] = [];
  const into: Argument = { Input: 0 };
  const sources: Argument[] = coins.slice(1).map((_, place) => ({ Input: place + 1 }));
  if (withdrawnBaseUnits > 0n) {
    inputs.push(withdrawal(coinType, withdrawnBaseUnits));
    commands.push(call('coin', 'redeem_funds', coinType, [{ Input: inputs.length - 1 }]));
    sources.push({ Result: 0 });
  }
  if (sources.length > 0) commands.push({ MergeCoins: { destination: into, sources } });
  inputs.push(addressInput(to));
  const receiver: Argument = { Input: inputs.length - 1 };
  if (!hasRest) {
    commands.push(call('coin', 'send_funds', coinType, [into, receiver]));
    return { inputs, commands };
  }
  inputs.push(pure(bcs.u64().serialize(amountBaseUnits).toBytes()), addressInput(from));
  const split = commands.length;
  commands.push(
    { SplitCoins: { coin: into, amounts: [{ Input: inputs.length - 2 }] } },
    call('coin', 'send_funds', coinType, [{ NestedResult: [split, 0] }, receiver]),
    call('coin', 'send_funds', coinType, [into, { Input: inputs.length - 1 }]),
  );
  return { inputs, commands };
}

function coinInput({ id, version, digest, startVersion }: CoinReference): Input {
  if (startVersion === null) return { Object: { ImmOrOwnedObject: { objectId: id, version, digest } } };
  return { Object: { SharedObject: { objectId: id, initialSharedVersion: startVersion, mutable: true } } };
}

function withdrawal(coinType: TokenContract, amount: bigint): Input {
  return {
    FundsWithdrawal: {
      reservation: { MaxAmountU64: amount.toString() },
      typeArg: { Balance: coinType },
      withdrawFrom: { Sender: true },
    },
  };
}

function addressInput(address: Address): Input {
  return pure(bcs.Address.serialize(address).toBytes());
}

function pure(bytes: Uint8Array): Input {
  return { Pure: { bytes } };
}

function call(module: string, name: string, coinType: TokenContract, args: readonly Argument[]): Command {
  return {
    MoveCall: { package: FRAMEWORK, module, function: name, typeArguments: [coinType], arguments: [...args] },
  };
}
