import { bcs } from '@mysten/sui/bcs';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { NewProgram } from './transaction-bytes.ts';

/** A coin object as it stood when it was read. */
export interface CoinReference {
  readonly id: string;
  /** Of an owned coin this very version and digest are spent. */
  readonly version: string;
  readonly digest: string;
  /** Of one that consensus orders (ConsensusAddressOwner): since when its owner has had it. Null: owned. */
  readonly startVersion: string | null;
}

/**
 * What a payment does, all of it. Money leaves address balances wherever it can: nothing of what is written there is used up by
 * it, so that any number of payments of one wallet stand beside each other (sui.md section 3.3).
 */
export interface PaymentPlan {
  readonly from: Address;
  readonly to: Address;
  readonly coinType: TokenContract;
  readonly amountBaseUnits: bigint;
  /**
   * COIN: a coin object of the receiver's, which every wallet shows. FUNDS: into his address balance, which leaves no object behind;
   * for our own addresses.
   */
  readonly form: 'COIN' | 'FUNDS';
  /** Taken from the sender's address balance; 0n: nothing. */
  readonly withdrawnBaseUnits: bigint;
  /** Coin objects of the sender's that go in whole, at least one where the form is FUNDS and too little is withdrawn. */
  readonly coins: readonly CoinReference[];
  /** Whether the coins hold more than is paid: the rest goes into the sender's own address balance. */
  readonly hasRest: boolean;
}

type MemberOf<T> = T extends Iterable<infer Member> ? Member : never;
type Input = MemberOf<NewProgram['inputs']>;
type Command = MemberOf<NewProgram['commands']>;
type Argument = { Input: number } | { Result: number } | { NestedResult: [number, number] };

/** The package of coins and balances. */
export const FRAMEWORK = `0x${'2'.padStart(64, '0')}`;

/** The program of a payment. Throws RangeError for a plan that pays something else than it says. */
export function programOf(plan: PaymentPlan): NewProgram {
  const { coins, withdrawnBaseUnits, amountBaseUnits, hasRest, form } = plan;
  const isCovered =
    coins.length > 0 ? withdrawnBaseUnits <= amountBaseUnits : withdrawnBaseUnits === amountBaseUnits;
  if (amountBaseUnits <= 0n || withdrawnBaseUnits < 0n || !isCovered || (hasRest && coins.length === 0))
    throw new RangeError('not a plan of a payment');
  if (coins.length > 0) {
    if (form === 'COIN') throw new RangeError('coins are paid into address balances alone');
    return fromCoins(plan);
  }
  return form === 'COIN' ? toCoin(plan) : toFunds(plan);
}

/** Out of an address balance, as a new coin. */
function toCoin({ to, coinType, withdrawnBaseUnits }: PaymentPlan): NewProgram {
  return {
    inputs: [withdrawal(coinType, withdrawnBaseUnits), addressInput(to)],
    commands: [
      call('coin', 'redeem_funds', coinType, [{ Input: 0 }]),
      { TransferObjects: { objects: [{ Result: 0 }], address: { Input: 1 } } },
    ],
  };
}

/** From one address balance into another. */
function toFunds({ to, coinType, withdrawnBaseUnits }: PaymentPlan): NewProgram {
  return {
    inputs: [withdrawal(coinType, withdrawnBaseUnits), addressInput(to)],
    commands: [
      call('balance', 'redeem_funds', coinType, [{ Input: 0 }]),
      call('balance', 'send_funds', coinType, [{ Result: 0 }, { Input: 1 }]),
    ],
  };
}

/** Of coins, whole, and of an address balance, into another; the rest into the sender's own. No object is left of them. */
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
