import { chain, chainWord, openOnly, pauseOf, reason, symbol } from './fields.ts';
import { ADMINS, ANYBODY, TREASURERS } from './roles.ts';
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
const transferId = integer('Its number.', { minimum: 1, maximum: 2 ** 53 - 1 });
const destination = oneOf(['COLD', 'HOT'], 'COLD: cold storage. HOT: the hot wallet, below its float.');
const method = oneOf(
  ['FREE', 'TOP_UP', 'STAKE', 'RENT'],
  'How the fee is paid. FREE: by coin that lies there. TOP_UP: by coin of the hot wallet. STAKE: by energy of its stake. RENT: by energy that is bought.',
);

const movement = object('A payout that the gateway makes for a sweep.', {
  orderPk: uuid('As a payout.'),
  kind: oneOf(['SWEEP', 'GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE', 'TO_COLD', 'REFUND'], 'What it is for.'),
  amountBaseUnits: baseUnitsText('Amount, of SWEEP in the asset, else in the native coin.'),
  money: text('Where its amount stands: RESERVED, IN_FLIGHT, PAID_OUT, RETURNED, RELEASED.'),
  obstacle: orNull(text('What it waits for.')),
});

const sweep = object('One deposit address emptied of one asset.', {
  sweepId: uuid('Its id.'),
  chain,
  address: text('The deposit address.'),
  symbol,
  amountBaseUnits: baseUnitsText('What is moved.'),
  amount: orNull(decimalText('In display units; null where the token is not configured.')),
  destination,
  receiver: text('Where to.'),
  method,
  costEstimateBaseUnits: baseUnitsText('What it was reckoned to cost, native coin.'),
  rentCostBaseUnits: orNull(
    baseUnitsText(
      'Of RENT: what the seller of energy asked for it, native coin; 0 where he refused. Null: nothing was ordered.',
    ),
  ),
  rentCost: orNull(decimalText('In display units.')),
  rentRef: orNull(text('What the seller calls the order; null where he has not said so.')),
  rentOrderedAt: orNull(moment('When energy was ordered.')),
  state: oneOf(['OPEN', 'DONE', 'FAILED', 'ABANDONED'], 'DONE: the transfer is verified.'),
  reason: orNull(text('Why it did not come to that.')),
  plannedAt: moment('Begun.'),
  endedAt: orNull(moment('Ended.')),
  movements: list(movement, 'Oldest first.'),
});

const pause = pauseOf('Why no sweep begins.');

const plan = object('What the planner would begin now, and what waits.', {
  chain,
  plannedAt: moment('When it was drawn.'),
  gasPriceBaseUnits: orNull(baseUnitsText('Of a unit of gas or energy; null where nobody had to ask.')),
  budgetLeftBaseUnits: text('Of the native coin for the day, in base units; negative where more was spent.'),
  budgetLeft: orNull(decimalText('In display units; 0 where more was spent.')),
  nativeSymbol: text('The native coin, of which fees are.'),
  begin: list(
    object('A sweep.', {
      address: text('Deposit address.'),
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      amount: orNull(decimalText('In display units.')),
      method,
      costBaseUnits: baseUnitsText(
        'What it costs at most, native coin: as reckoned, and a fifth; more is not signed.',
      ),
      cost: orNull(decimalText('In display units.')),
      topUpBaseUnits: baseUnitsText(
        'Coin that the hot wallet brings before. The fee is paid of it; the rest stays at the address.',
      ),
      topUp: orNull(decimalText('In display units.')),
      destination,
    }),
    'Oldest money first.',
  ),
  toCold: list(
    object('What the hot wallet holds above its float.', {
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      amount: orNull(decimalText('In display units.')),
      costBaseUnits: baseUnitsText('What that costs at most, native coin.'),
      cost: orNull(decimalText('In display units.')),
    }),
    'By asset.',
  ),
  totalCostBaseUnits: baseUnitsText('What all of it costs at most, native coin.'),
  totalCost: orNull(decimalText('In display units.')),
  totalTopUpBaseUnits: baseUnitsText('Coin that the hot wallet brings for all of it.'),
  totalTopUp: orNull(decimalText('In display units.')),
  waiting: list(
    object('Assets that stay where they are for now.', {
      reason: text('Why.'),
      count: integer('How many.'),
    }),
    'By reason.',
  ),
  pause: orNull(pause),
});

export const SWEEP_ROUTES = {
  listSweeps: page('/v1/sweeps', {
    tag,
    roles: ANYBODY,
    summary: 'Deposit addresses that are emptied, or were',
    filters: { chain, open: openOnly, address: chainWord('The deposit address.') },
    answer: sweep,
  }),
  listSweepPlans: read('/v1/sweep-plans', {
    tag,
    roles: ANYBODY,
    summary: 'What would be swept now, for how much, and why the rest waits',
    answer: list(plan, 'By chain; chains whose policy has nothing swept are not in it.'),
  }),
  pauseSweeps: act('/v1/chains/{chain}/sweeps/pause', {
    tag,
    roles: TREASURERS,
    summary: 'Begin no sweep on a chain; what has begun is ended',
    params: { chain },
    body: object('Why.', { reason }),
    answer: object('Paused.', { chain, pause: orNull(pause) }),
  }),
  resumeSweeps: act('/v1/chains/{chain}/sweeps/resume', {
    tag,
    roles: ADMINS,
    summary: 'Begin sweeps again',
    params: { chain },
    body: object('Why.', { reason }),
    answer: object('Resumed.', { chain, pause: orNull(pause) }),
  }),
  runSweeps: act('/v1/chains/{chain}/sweeps/run', {
    tag,
    roles: TREASURERS,
    summary: 'Sweep young money too, once; within all other bounds of the policy',
    params: { chain },
    body: object('Why.', { reason }),
    answer: object('Asked.', { chain, requestId: integer('Its number.') }),
  }),
  refundDeposit: act('/v1/unmatched-deposits/{transferId}/refund', {
    tag,
    roles: TREASURERS,
    summary: 'Give an unmatched deposit back, or a part of it',
    description:
      'A payout of its merchant, to the address that is said here and never to the sender by itself: many send from an exchange. The approvers of the policy sign it, whatever its amount. On a main network whose policy names no approvers the signer refuses it.',
    params: { transferId },
    body: object(
      'Where to.',
      { receiver: chainWord('The address that gets it.'), reason },
      {
        amountBaseUnits: baseUnitsText('A part; all that is left where it is not said.'),
        amount: decimalText('A part, in display units.'),
      },
    ),
    answer: object('It waits for the signer.', {
      orderPk: uuid('As a payout.'),
      merchantId: text('Whose payout it is.'),
      chain,
      symbol,
      amountBaseUnits: baseUnitsText('Amount.'),
      receiver: text('Where to.'),
    }),
  }),
};
