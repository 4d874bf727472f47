import { findDeliveryProblems } from './find-callback-problems.ts';
import type { Arrival, ChainTransfer, ChaosFacts, NotificationRow, PayoutTerms } from './facts.ts';

export function findPayoutProblems(facts: ChaosFacts): string[] {
  const { payouts, tables } = facts;
  const known = new Set(payouts.map(({ orderId }) => orderId));
  return [
    ...tables.payouts
      .filter((row) => !known.has(row.orderId))
      .map((row) => `${row.orderId}: no merchant requested this payout`),
    ...findStrangePayments(facts),
    ...payouts.flatMap((terms) => [
      ...findPaymentProblems(facts, terms),
      ...findStateProblems(facts, terms),
      ...findToldProblems(facts, terms),
    ]),
    ...findWalletProblems(facts),
  ];
}

function paymentsOf({ hotWallet }: ChaosFacts, terms: PayoutTerms): readonly ChainTransfer[] {
  return hotWallet.sent.filter((one) => one.to === terms.receiver);
}

/** Each payout must be paid exactly once with the exact amount, or never if the policy refuses it. */
function findPaymentProblems(facts: ChaosFacts, terms: PayoutTerms): string[] {
  const paid = paymentsOf(facts, terms);
  const should = terms.refusal === null ? 1 : 0;
  if (paid.length !== should)
    return [`${terms.orderId}: was paid ${paid.length} times on chain, must be ${should}`];
  return paid.flatMap(({ chain, contract, amount }) =>
    chain === terms.chain && contract === terms.contract && amount === terms.amount
      ? []
      : [`${terms.orderId}: ${amount} of ${contract} on ${chain} were paid, must be ${terms.amount}`],
  );
}

function findStrangePayments({ hotWallet, payouts }: ChaosFacts): string[] {
  const receivers = new Set(payouts.map(({ receiver }) => receiver));
  return hotWallet.sent
    .filter(({ to }) => !receivers.has(to))
    .map(({ txHash, amount, to }) => `the hot wallet paid ${amount} to ${to} by ${txHash}, for no payout`);
}

function findStateProblems({ tables }: ChaosFacts, terms: PayoutTerms): string[] {
  const row = tables.payouts.find(({ orderId }) => orderId === terms.orderId);
  if (row === undefined) return [`${terms.orderId}: the payout is missing`];
  const status = terms.refusal === null ? 'SUCCESS' : 'FAILED';
  const actualAmount = terms.refusal === null ? terms.amount : null;
  const problems: string[] = [];
  const wrong = (what: string, is: unknown, should: unknown): void => {
    problems.push(`${terms.orderId}: ${what} of the payout is ${String(is)}, must be ${String(should)}`);
  };
  if (row.status !== status) wrong('the status', row.status, status);
  else if (row.actualAmount !== actualAmount) wrong('the actual amount', row.actualAmount, actualAmount);
  if (row.status === 'FAILED' && row.reason !== terms.refusal) wrong('the reason', row.reason, terms.refusal);
  return problems;
}

function findToldProblems(facts: ChaosFacts, terms: PayoutTerms): string[] {
  const { arrivals, tables } = facts;
  const orderPk = tables.payouts.find(({ orderId }) => orderId === terms.orderId)?.orderPk;
  const rows = tables.notifications
    .filter((row) => row.orderPk === orderPk)
    .toSorted((a, b) => a.sequence - b.sequence);
  const came = arrivals.filter(({ data }) => data.orderId === terms.orderId);
  return [
    ...findStoryProblems(terms, rows),
    ...findDeliveryProblems(terms, rows, came),
    ...came.flatMap((arrival) => findContentProblems(facts, terms, arrival)),
  ];
}

function findStoryProblems(terms: PayoutTerms, rows: readonly NotificationRow[]): string[] {
  const back = terms.reorganised ? '(PENDING_CONFIRMATION PENDING )*' : '';
  const story =
    terms.refusal === null
      ? new RegExp(`^INIT PENDING ${back}PENDING_CONFIRMATION SUCCESS$`)
      : /^INIT FAILED$/;
  const statuses = rows.map(({ dataText }) => (JSON.parse(dataText) as { status: string }).status).join(' ');
  if (story.test(statuses)) return [];
  return [`${terms.orderId}: the callbacks of the payout are "${statuses}", must match ${story.source}`];
}

function findContentProblems(facts: ChaosFacts, terms: PayoutTerms, { nonce, data }: Arrival): string[] {
  const problems: string[] = [];
  const wrong = (what: string): void => void problems.push(`${terms.orderId}: callback ${nonce} has ${what}`);
  const isPaid = data.status === 'SUCCESS';
  if (data.amount !== terms.amountText) wrong(`amount ${data.amount}, not ${terms.amountText}`);
  if (isPaid && data.actualAmount !== terms.amountText)
    wrong(`the actual amount ${data.actualAmount}, not ${terms.amountText}`);
  const { transaction } = data;
  if (isPaid && transaction === null) wrong('no transaction of the payment');
  if (transaction === null) return problems;
  const isKnown =
    facts.takenBack.has(transaction.txid) ||
    paymentsOf(facts, terms).some(
      (one) => one.txHash === transaction.txid && (!isPaid || one.blockHeight === transaction.blockNum),
    );
  if (!isKnown)
    wrong(`transaction ${transaction.txid} of block ${transaction.blockNum}, which never paid it`);
  return problems;
}

/** The ledger must equal the wallet's balance on chain, with no amount in flight and no nonce skipped. */
function findWalletProblems({ hotWallet, tables, payouts }: ChaosFacts): string[] {
  const sumOf = (asset: string, ...kinds: readonly string[]): bigint =>
    tables.accounts
      .filter((one) => kinds.includes(one.kind) && `${one.chain} ${one.symbol}` === asset)
      .reduce((sum, { balance }) => sum + balance, 0n);
  const books = [...hotWallet.balances].flatMap(([asset, onChain]) => {
    const promised = sumOf(asset, 'HOT_RESERVED', 'IN_FLIGHT');
    const held = promised + sumOf(asset, 'HOT_AVAILABLE', 'HOT_GAS');
    const paid = payouts
      .filter((one) => one.refusal === null && `${one.chain} ${one.symbol}` === asset)
      .reduce((sum, { amount }) => sum + amount, 0n);
    const paidOut = sumOf(asset, 'PAID_OUT');
    return [
      ...(held === onChain ? [] : [`the hot wallet has ${onChain} of ${asset}, the ledger has ${held}`]),
      ...(promised === 0n ? [] : [`${promised} of ${asset} are still reserved or in flight`]),
      ...(paidOut === paid ? [] : [`PAID_OUT ${asset} has ${paidOut}, must have ${paid}`]),
    ];
  });
  const nonces = [...hotWallet.transactions].flatMap(([chain, made]) => {
    const used = tables.nonces.filter((row) => row.chain === chain && row.state === 'FINAL');
    const other = tables.nonces.filter(
      (row) => row.chain === chain && row.state !== 'FINAL' && row.nonce < made,
    );
    return [
      ...(used.length === made ? [] : [`${made} transactions on ${chain}, ${used.length} nonces are final`]),
      ...other.map(({ nonce, state }) => `nonce ${nonce} on ${chain} is ${state} and was used`),
    ];
  });
  return [...books, ...nonces];
}
