import { canonicalType, SUI_TYPE } from '../coin-type.ts';
import { fundsKey, fundsOf, type Chain } from './chain.ts';
import { readReservation, reservationIdOf, type GasPayment } from './gas-payment.ts';
import { LIMITS } from './parameters.ts';
import { invalidInput } from './refusal.ts';
import { programOf, type TransactionData } from './transaction.ts';

/** Returns amounts reserved from address balances by `fundsKey`, including gas. Throws if a balance is too low. */
export function checkWithdrawals(
  chain: Chain,
  data: TransactionData,
  gas: GasPayment,
): ReadonlyMap<string, bigint> {
  const sums = withdrawalsOf(chain, data, gas);
  for (const [key, amount] of sums) {
    const available = chain.funds.get(key) ?? 0n;
    if (available < amount) {
      invalidInput(
        `Invalid withdraw reservation: Available amount in account for object id ${key} is less than requested: ${available} < ${amount}`,
      );
    }
  }
  return sums;
}

function withdrawalsOf(chain: Chain, data: TransactionData, gas: GasPayment): Map<string, bigint> {
  const program = programOf(data);
  const sums = new Map<string, bigint>();
  const { owner } = data.gasData;
  const add = (address: string, coinType: string, amount: bigint): void => {
    if (amount === 0n)
      invalidInput('Invalid withdraw reservation: Balance withdraw reservation amount must be non-zero');
    const key = fundsKey(address, coinType);
    sums.set(key, (sums.get(key) ?? 0n) + amount);
  };
  const inputs = program.inputs.filter((input) => input.$kind === 'FundsWithdrawal');
  if (inputs.length > LIMITS.withdrawals) {
    invalidInput(
      `Invalid withdraw reservation: Maximum number of balance withdraw reservations is ${LIMITS.withdrawals}`,
    );
  }
  for (const { FundsWithdrawal: withdrawal } of inputs) {
    if (withdrawal.withdrawFrom.$kind === 'SenderAllowance') {
      invalidInput('Invalid withdraw reservation: allowances are not supported');
    }
    const address = withdrawal.withdrawFrom.$kind === 'Sponsor' ? owner : data.sender;
    const coinType = canonicalType(withdrawal.typeArg.Balance);
    checkDeniedFunds(chain, coinType, address);
    add(address, coinType, BigInt(withdrawal.reservation.MaxAmountU64));
  }
  if (gas.kind === 'funds') add(owner, SUI_TYPE, BigInt(data.gasData.budget));
  if (gas.kind === 'reservation') {
    checkReservation(chain, data);
    add(owner, SUI_TYPE, gas.reservedMist);
  }
  return sums;
}

function checkDeniedFunds(chain: Chain, coinType: string, address: string): void {
  const coin = chain.coins.get(coinType);
  if (coin?.paused === true) invalidInput(`Coin type is globally paused for use: ${coinType}`);
  if (coin?.deniedAddresses.has(address) === true) {
    invalidInput(`Address ${address} is denied for coin ${coinType}`);
  }
}

/** A reservation must name the gas owner's SUI, be of this or the previous epoch, and come first. */
function checkReservation(chain: Chain, data: TransactionData): void {
  const { payment, owner } = data.gasData;
  for (const [index, reference] of payment.entries()) {
    const reservation = readReservation(reference);
    if (reservation === undefined) continue;
    if (index > 0)
      invalidInput('Feature is not supported: a coin reservation that is not the first gas payment');
    if (reference.objectId !== reservationIdOf(chain.id, owner)) {
      invalidInput(
        `Invalid withdraw reservation: coin reservation object id ${reference.objectId} not found`,
      );
    }
    const { number } = chain.epoch;
    if (reservation.epoch !== number && reservation.epoch + 1n !== number)
      invalidInput('Transaction Expired');
  }
}

/** SUI address balance minus the transaction's explicit withdrawals. */
export function fundsLeftForGas(chain: Chain, data: TransactionData): bigint {
  const { owner } = data.gasData;
  let left = fundsOf(chain.index.funds, owner, SUI_TYPE);
  for (const input of programOf(data).inputs) {
    if (input.$kind !== 'FundsWithdrawal') continue;
    const { withdrawFrom, typeArg, reservation } = input.FundsWithdrawal;
    const address = withdrawFrom.$kind === 'Sponsor' ? owner : data.sender;
    if (address === owner && canonicalType(typeArg.Balance) === SUI_TYPE)
      left -= BigInt(reservation.MaxAmountU64);
  }
  return left < 0n ? 0n : left;
}
