import type { Doctoring } from './doctored-facts.ts';
import type { ChainTransfer, ChaosFacts, HotWalletTruth, PayoutRow, PayoutTerms } from './facts.ts';

/** Errors that a gateway could make with payouts. The facts need a paid payout and one that the policy refused. */
export const PAYOUT_DOCTORINGS: readonly Doctoring[] = [
  {
    name: 'a payout was paid twice, by a second transaction',
    doctor: (facts) =>
      withHotWallet(facts, {
        sent: [...facts.hotWallet.sent, { ...paymentOf(facts), txHash: `0x${'22'.repeat(32)}` }],
      }),
    isNamed: /was paid 2 times on chain, must be 1/,
  },
  {
    name: 'a payout with status SUCCESS was never sent',
    doctor: (facts) =>
      withHotWallet(facts, { sent: facts.hotWallet.sent.filter((one) => one !== paymentOf(facts)) }),
    isNamed: /was paid 0 times on chain, must be 1/,
  },
  {
    name: 'a payout paid one unit too much',
    doctor: (facts) => withPayment(facts, { amount: paymentOf(facts).amount + 1n }),
    isNamed: /\d+ of 0x\w+ on \w+ were paid, must be \d+/,
  },
  {
    name: 'a payout that the policy refuses was paid',
    doctor: (facts) => {
      const payment = { ...paymentOf(facts), to: refusedTerms(facts).receiver };
      return withHotWallet(facts, { sent: [...facts.hotWallet.sent, payment] });
    },
    isNamed: /was paid 1 times on chain, must be 0/,
  },
  {
    name: 'the hot wallet paid a receiver that no merchant named',
    doctor: (facts) => withPayment(facts, { to: '0xstranger' }),
    isNamed: /the hot wallet paid \d+ to 0xstranger by 0x\w+, for no payout/,
  },
  {
    name: 'a payout that was paid is FAILED',
    doctor: (facts) => withPayout(facts, paidTerms(facts), { status: 'FAILED' }),
    isNamed: /the status of the payout is FAILED, must be SUCCESS/,
  },
  {
    name: 'a payout has a wrong actual amount',
    doctor: (facts) => withPayout(facts, paidTerms(facts), { actualAmount: 1n }),
    isNamed: /the actual amount of the payout is 1, must be \d+/,
  },
  {
    name: "a payout failed for a reason that is not the policy's",
    doctor: (facts) => withPayout(facts, refusedTerms(facts), { reason: 'Payout expired' }),
    isNamed: /the reason of the payout is Payout expired/,
  },
  {
    name: 'a payout is missing',
    doctor: (facts) => {
      const payouts = facts.tables.payouts.filter(({ orderId }) => orderId !== paidTerms(facts).orderId);
      return { ...facts, tables: { ...facts.tables, payouts } };
    },
    isNamed: /the payout is missing/,
  },
  {
    name: 'the hot wallet holds less than the ledger',
    doctor: (facts) =>
      withHotWallet(facts, {
        balances: new Map([...facts.hotWallet.balances].map(([asset, held]) => [asset, held - 1n])),
      }),
    isNamed: /the hot wallet has \d+ of [\w ]+, the ledger has \d+/,
  },
  {
    name: 'the hot wallet sent a transaction whose nonce was not allocated',
    doctor: (facts) =>
      withHotWallet(facts, {
        transactions: new Map([...facts.hotWallet.transactions].map(([chain, made]) => [chain, made + 1])),
      }),
    isNamed: /\d+ transactions on \w+, \d+ nonces are final/,
  },
  {
    name: 'a callback of a payout names a transaction that never paid it',
    doctor: (facts) => {
      const { orderId } = paidTerms(facts);
      const arrivals = facts.arrivals.map((one) => {
        const { transaction } = one.data;
        if (one.data.orderId !== orderId || transaction === null) return one;
        return {
          ...one,
          data: { ...one.data, transaction: { ...transaction, txid: `0x${'00'.repeat(32)}` } },
        };
      });
      return { ...facts, arrivals };
    },
    isNamed: /transaction 0x0+ of block \d+, which never paid it/,
  },
];

function withHotWallet(facts: ChaosFacts, change: Partial<HotWalletTruth>): ChaosFacts {
  return { ...facts, hotWallet: { ...facts.hotWallet, ...change } };
}

function withPayment(facts: ChaosFacts, change: Partial<ChainTransfer>): ChaosFacts {
  const payment = paymentOf(facts);
  const sent = facts.hotWallet.sent.map((one) => (one === payment ? { ...one, ...change } : one));
  return withHotWallet(facts, { sent });
}

function withPayout(facts: ChaosFacts, terms: PayoutTerms, change: Partial<PayoutRow>): ChaosFacts {
  const payouts = facts.tables.payouts.map((row) =>
    row.orderId === terms.orderId ? { ...row, ...change } : row,
  );
  return { ...facts, tables: { ...facts.tables, payouts } };
}

function paidTerms({ payouts }: ChaosFacts): PayoutTerms {
  const terms = payouts.find(({ refusal }) => refusal === null);
  if (terms === undefined) throw new Error('the facts need a payout that was paid');
  return terms;
}

function refusedTerms({ payouts }: ChaosFacts): PayoutTerms {
  const terms = payouts.find(({ refusal }) => refusal !== null);
  if (terms === undefined) throw new Error('the facts need a payout that the policy refused');
  return terms;
}

function paymentOf(facts: ChaosFacts): ChainTransfer {
  const payment = facts.hotWallet.sent.find(({ to }) => to === paidTerms(facts).receiver);
  if (payment === undefined) throw new Error('the facts need the payment of a payout');
  return payment;
}
