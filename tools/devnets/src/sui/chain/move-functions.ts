import { createBcsWriter } from '../bcs-writer.ts';
import { stop } from './execution-error.ts';
import {
  coinValue,
  consumeCoin,
  createCoin,
  lookBalance,
  lookCoin,
  lookParty,
  lookWithdrawal,
  moveFunds,
  readAddress,
  readU256,
  readU64,
  sendCoin,
  take,
  takeCoin,
  takeBalance,
  wrongArgument,
  type LiveCoin,
  type Machine,
  type Operand,
  type Value,
} from './machine.ts';

/** Call of a framework function whose only type argument is `coinType`. */
export interface MoveCall {
  readonly machine: Machine;
  readonly coinType: string;
  readonly argument: (index: number) => Operand;
}

interface MoveFunction {
  readonly arity: number;
  readonly run: (call: MoveCall) => readonly Value[];
}

/** ENotEnough of `balance::split`. */
const NOT_ENOUGH = 2n;
/** ENonZero of `balance::destroy_zero`. */
const NON_ZERO = 0n;
/** ENotEnough of `coin::divide_into_n`. */
const COIN_NOT_ENOUGH = 2n;

function abort(module: string, name: string, code: bigint): never {
  return stop({ kind: 'MOVE_ABORT', module, function: name, code });
}

function balanceValue(coinType: string, amount: bigint): Value {
  return { kind: 'balance', coinType, amount };
}

function u64Value(amount: bigint): Value {
  return { kind: 'pure', bytes: createBcsWriter().u64(amount).finish() };
}

function splitCoin(machine: Machine, coin: LiveCoin, amount: bigint): LiveCoin {
  if (coin.balance < amount) abort('balance', 'split', NOT_ENOUGH);
  coin.balance -= amount;
  return createCoin(machine, coin.coinType, amount);
}

function redeem({ machine, coinType, argument }: MoveCall): bigint {
  const { owner, limit } = lookWithdrawal(argument(0), coinType);
  take(argument(0));
  moveFunds(machine, owner, coinType, -limit);
  return limit;
}

function toSender(machine: Machine, coin: LiveCoin): void {
  sendCoin(machine, coin, { kind: 'address', address: machine.sender });
}

const COIN_FUNCTIONS: Readonly<Record<string, MoveFunction>> = {
  'coin::send_funds': {
    arity: 2,
    run({ machine, coinType, argument }) {
      moveFunds(machine, readAddress(argument(1)), coinType, consumeCoin(argument(0), coinType));
      return [];
    },
  },
  'coin::redeem_funds': { arity: 1, run: (call) => [coinValue(call.machine, call.coinType, redeem(call))] },
  'coin::into_balance': {
    arity: 1,
    run: ({ coinType, argument }) => [balanceValue(coinType, consumeCoin(argument(0), coinType))],
  },
  'coin::from_balance': {
    arity: 1,
    run: ({ machine, coinType, argument }) => [
      coinValue(machine, coinType, takeBalance(argument(0), coinType)),
    ],
  },
  'coin::zero': { arity: 0, run: ({ machine, coinType }) => [coinValue(machine, coinType, 0n)] },
  'coin::value': {
    arity: 1,
    run: ({ coinType, argument }) => [u64Value(lookCoin(argument(0), coinType).balance)],
  },
  'coin::destroy_zero': {
    arity: 1,
    run({ coinType, argument }) {
      if (consumeCoin(argument(0), coinType) !== 0n) abort('balance', 'destroy_zero', NON_ZERO);
      return [];
    },
  },
  'coin::join': {
    arity: 2,
    run({ coinType, argument }) {
      const coin = lookCoin(argument(0), coinType);
      coin.balance += consumeCoin(argument(1), coinType);
      return [];
    },
  },
  'coin::split': {
    arity: 2,
    run: ({ machine, coinType, argument }) => [
      { kind: 'coin', coin: splitCoin(machine, lookCoin(argument(0), coinType), readU64(argument(1))) },
    ],
  },
  'coin::take': {
    arity: 2,
    run({ machine, coinType, argument }) {
      const balance = lookBalance(argument(0), coinType);
      const amount = readU64(argument(1));
      if (balance.amount < amount) abort('balance', 'split', NOT_ENOUGH);
      balance.amount -= amount;
      return [coinValue(machine, coinType, amount)];
    },
  },
  'coin::put': {
    arity: 2,
    run({ coinType, argument }) {
      lookBalance(argument(0), coinType).amount += consumeCoin(argument(1), coinType);
      return [];
    },
  },
};

const BALANCE_FUNCTIONS: Readonly<Record<string, MoveFunction>> = {
  'balance::send_funds': {
    arity: 2,
    run({ machine, coinType, argument }) {
      moveFunds(machine, readAddress(argument(1)), coinType, takeBalance(argument(0), coinType));
      return [];
    },
  },
  'balance::redeem_funds': { arity: 1, run: (call) => [balanceValue(call.coinType, redeem(call))] },
  'balance::zero': { arity: 0, run: ({ coinType }) => [balanceValue(coinType, 0n)] },
  'balance::value': {
    arity: 1,
    run: ({ coinType, argument }) => [u64Value(lookBalance(argument(0), coinType).amount)],
  },
  'balance::destroy_zero': {
    arity: 1,
    run({ coinType, argument }) {
      if (takeBalance(argument(0), coinType) !== 0n) abort('balance', 'destroy_zero', NON_ZERO);
      return [];
    },
  },
  'balance::join': {
    arity: 2,
    run({ coinType, argument }) {
      const balance = lookBalance(argument(0), coinType);
      balance.amount += takeBalance(argument(1), coinType);
      return [u64Value(balance.amount)];
    },
  },
  'balance::split': {
    arity: 2,
    run({ coinType, argument }) {
      const balance = lookBalance(argument(0), coinType);
      const amount = readU64(argument(1));
      if (balance.amount < amount) abort('balance', 'split', NOT_ENOUGH);
      balance.amount -= amount;
      return [balanceValue(coinType, amount)];
    },
  },
  'balance::withdraw_all': {
    arity: 1,
    run({ coinType, argument }) {
      const balance = lookBalance(argument(0), coinType);
      const { amount } = balance;
      balance.amount = 0n;
      return [balanceValue(coinType, amount)];
    },
  },
  /** Its type argument is `Balance<T>`; the interpreter passes T. */
  'funds_accumulator::withdrawal_split': {
    arity: 2,
    run({ coinType, argument }) {
      const withdrawal = lookWithdrawal(argument(0), coinType);
      const limit = readU256(argument(1));
      if (withdrawal.limit < limit) abort('funds_accumulator', 'withdrawal_split', 0n);
      withdrawal.limit -= limit;
      return [{ kind: 'withdrawal', owner: withdrawal.owner, coinType, limit }];
    },
  },
};

const TRANSFER_FUNCTIONS: Readonly<Record<string, MoveFunction>> = {
  /** Its type argument is the object's type; the interpreter passes the coin's. */
  'transfer::public_transfer': {
    arity: 2,
    run({ machine, argument }) {
      sendCoin(machine, takeCoin(argument(0)), { kind: 'address', address: readAddress(argument(1)) });
      return [];
    },
  },
  'party::single_owner': {
    arity: 1,
    run: ({ argument }) => [{ kind: 'party', address: readAddress(argument(0)) }],
  },
  'transfer::public_party_transfer': {
    arity: 2,
    run({ machine, argument }) {
      const address = lookParty(argument(1));
      sendCoin(machine, takeCoin(argument(0)), { kind: 'consensus', address, startVersion: 0n });
      return [];
    },
  },
  'pay::keep': {
    arity: 1,
    run({ machine, coinType, argument }) {
      toSender(machine, takeCoin(argument(0), coinType));
      return [];
    },
  },
  'pay::split': {
    arity: 2,
    run({ machine, coinType, argument }) {
      toSender(machine, splitCoin(machine, lookCoin(argument(0), coinType), readU64(argument(1))));
      return [];
    },
  },
  'pay::split_and_transfer': {
    arity: 3,
    run({ machine, coinType, argument }) {
      const part = splitCoin(machine, lookCoin(argument(0), coinType), readU64(argument(1)));
      sendCoin(machine, part, { kind: 'address', address: readAddress(argument(2)) });
      return [];
    },
  },
  'pay::divide_and_keep': {
    arity: 2,
    run({ machine, coinType, argument }) {
      const coin = lookCoin(argument(0), coinType);
      const parts = readU64(argument(1));
      if (parts === 0n) wrongArgument(1, 'TYPE_MISMATCH');
      if (coin.balance < parts) abort('coin', 'divide_into_n', COIN_NOT_ENOUGH);
      const amount = coin.balance / parts;
      for (let left = parts - 1n; left > 0n; left--) toSender(machine, splitCoin(machine, coin, amount));
      return [];
    },
  },
  'pay::join': {
    arity: 2,
    run({ coinType, argument }) {
      const coin = lookCoin(argument(0), coinType);
      coin.balance += consumeCoin(argument(1), coinType);
      return [];
    },
  },
};

const FUNCTIONS: Readonly<Record<string, MoveFunction>> = {
  ...COIN_FUNCTIONS,
  ...BALANCE_FUNCTIONS,
  ...TRANSFER_FUNCTIONS,
};

/** Supports only functions of the framework (0x2) that move coins. */
export function findMoveFunction(name: string): MoveFunction | undefined {
  return Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
}
