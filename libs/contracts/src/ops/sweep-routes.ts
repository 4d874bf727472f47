import { chain, chainWord, openOnly, pauseOf, reason, symbol } from './fields.ts';
import { ADMIN_ROLES, ALL_ROLES, FINANCE_ROLES } from './roles.ts';
import { act, page, read } from './route.ts';
import {
  baseUnitsText,
  decimalText,
  integer,
  list,
  moment,
  object,
  oneOf,
  orNull,
  text,
  uuid,
} from './typed-schema.ts';

const tag = 'Sweeps';
const transferId = integer('Id of the transfer.', { minimum: 1, maximum: 2 ** 53 - 1 });
const destination = oneOf(
  ['COLD', 'HOT'],
  'COLD: cold storage. HOT: the hot wallet, while it is below its float.',
);
const method = oneOf(
  ['FREE', 'TOP_UP', 'STAKE', 'RENT'],
  'How the fee is paid. FREE: with coin at the address. TOP_UP: with coin sent by the hot wallet. STAKE: with energy of the hot wallet’s stake. RENT: with bought energy.',
);

const movement = object('A movement of money for a sweep, carried out as a payout.', {
  orderPk: uuid('Id as a payout.'),
  kind: oneOf(['SWEEP', 'GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE', 'TO_COLD', 'REFUND'], 'Purpose.'),
  amountBaseUnits: baseUnitsText('Amount, for SWEEP in the asset, else in the native coin.'),
  money: text('Booking state of the amount: RESERVED, IN_FLIGHT, PAID_OUT, RETURNED, RELEASED.'),
  obstacle: orNull(text('Reason why it waits.')),
});

const sweep = object('Sweep of one asset from one deposit address.', {
  sweepId: uuid('Id of the sweep.'),
  chain,
  address: text('The deposit address.'),
  symbol,
  amountBaseUnits: baseUnitsText('Swept amount.'),
  amount: orNull(decimalText('In display units; null where the token is not configured.')),
  destination,
  receiver: text('Receiver.'),
  method,
  costEstimateBaseUnits: baseUnitsText('Estimated cost in the native coin.'),
  rentCostBaseUnits: orNull(
    baseUnitsText(
      'Only for RENT: price of the energy in the native coin; 0 if the seller refused. Null: not ordered.',
    ),
  ),
  rentCost: orNull(decimalText('In display units.')),
  rentRef: orNull(text('The seller’s id of the order; null if unknown.')),
  rentOrderedAt: orNull(moment('Time of the energy order.')),
  state: oneOf(['OPEN', 'DONE', 'FAILED', 'ABANDONED'], 'DONE: the transfer is verified.'),
  reason: orNull(text('Reason why it failed or was abandoned.')),
  plannedAt: moment('Time of the plan.'),
  endedAt: orNull(moment('Time of the end.')),
  movements: list(movement, 'Movements, oldest first.'),
});

const pause = pauseOf('Reason why no sweep starts.');

const plan = object('Sweeps that the planner would start now, and waiting assets.', {
  chain,
  plannedAt: moment('Time of the plan.'),
  gasPriceBaseUnits: orNull(baseUnitsText('Price of a unit of gas or energy; null if it was not needed.')),
  budgetLeftBaseUnits: text(
    'Rest of the day’s budget in the native coin, in base units; negative if more was spent.',
  ),
  budgetLeft: orNull(decimalText('In display units; 0 if more was spent.')),
  nativeSymbol: text('Symbol of the native coin, in which fees are paid.'),
  begin: list(
    object('A sweep.', {
      address: text('Deposit address.'),
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      amount: orNull(decimalText('In display units.')),
      method,
      costBaseUnits: baseUnitsText(
        'Maximum cost in the native coin: the estimate plus a fifth; a sweep that costs more is not signed.',
      ),
      cost: orNull(decimalText('In display units.')),
      topUpBaseUnits: baseUnitsText(
        'Coin that the hot wallet sends first. The fee is paid from it; the rest stays at the address.',
      ),
      topUp: orNull(decimalText('In display units.')),
      destination,
    }),
    'Oldest balance first.',
  ),
  toCold: list(
    object('Balance of the hot wallet above its float.', {
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      amount: orNull(decimalText('In display units.')),
      costBaseUnits: baseUnitsText('Maximum cost in the native coin.'),
      cost: orNull(decimalText('In display units.')),
    }),
    'One entry per asset.',
  ),
  totalCostBaseUnits: baseUnitsText('Maximum total cost in the native coin.'),
  totalCost: orNull(decimalText('In display units.')),
  totalTopUpBaseUnits: baseUnitsText('Total of the coin that the hot wallet sends first.'),
  totalTopUp: orNull(decimalText('In display units.')),
  waiting: list(
    object('Assets that are not swept now.', {
      reason: text('Reason.'),
      count: integer('Number of assets.'),
    }),
    'One entry per reason.',
  ),
  pause: orNull(pause),
});

export const SWEEP_ROUTES = {
  listSweeps: page('/v1/sweeps', {
    tag,
    roles: ALL_ROLES,
    summary: 'List sweeps of deposit addresses',
    filters: { chain, open: openOnly, address: chainWord('The deposit address.') },
    answer: sweep,
  }),
  listSweepPlans: read('/v1/sweep-plans', {
    tag,
    roles: ALL_ROLES,
    summary: 'Preview the next sweeps, their cost, and why other assets wait',
    answer: list(plan, 'One entry per chain whose policy allows sweeps.'),
  }),
  pauseSweeps: act('/v1/chains/{chain}/sweeps/pause', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Start no new sweeps on a chain; started ones are completed',
    params: { chain },
    body: object('Reason of the pause.', { reason }),
    answer: object('The pause.', { chain, pause: orNull(pause) }),
  }),
  resumeSweeps: act('/v1/chains/{chain}/sweeps/resume', {
    tag,
    roles: ADMIN_ROLES,
    summary: 'Resume sweeps',
    params: { chain },
    body: object('Reason of the resumption.', { reason }),
    answer: object('The chain after the resumption.', { chain, pause: orNull(pause) }),
  }),
  runSweeps: act('/v1/chains/{chain}/sweeps/run', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Sweep recent deposits too, once, within all other limits of the policy',
    params: { chain },
    body: object('Reason.', { reason }),
    answer: object('The request.', { chain, requestId: integer('Id of the request.') }),
  }),
  refundDeposit: act('/v1/unmatched-deposits/{transferId}/refund', {
    tag,
    roles: FINANCE_ROLES,
    summary: 'Refund an unmatched deposit, fully or in part',
    description:
      'Creates a payout of its merchant to the given address, never to the sender by default: many customers send from an exchange. The approvers of the policy must approve it, whatever its amount. On a main network whose policy names no approvers the signer refuses it.',
    params: { transferId },
    body: object(
      'The refund.',
      { receiver: chainWord('Address that receives the refund.'), reason },
      {
        amountBaseUnits: baseUnitsText('Amount; default: everything left.'),
        amount: decimalText('Amount in display units.'),
      },
    ),
    answer: object('The refund, which waits for the signer.', {
      orderPk: uuid('Id as a payout.'),
      merchantId: text('Merchant of the payout.'),
      chain,
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      receiver: text('Receiver.'),
    }),
  }),
};
