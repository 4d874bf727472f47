import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { baseUnits } from '@opentill/domain/money';
import type { OrderRow } from '@opentill/testkit/scenario';
import { sql } from 'kysely';
import { CHAIN, randomAddress, openTronBooks, USDT, type TronBooks } from './tron-wallet-world.ts';

// Coin at a TRON deposit address for its fees belongs to the gateway, like the tokens there.

const TRX = 1_000_000n;
const BROUGHT = 20n * TRX;

let books: TronBooks;
let order: OrderRow;
beforeAll(async () => {
  books = await openTronBooks('reconcile', { takesCoin: false });
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'TRON') on conflict do nothing`.execute(
    books.admin,
  );
  const account = books.devnet.accounts[5]!;
  order = await books.deposited(account, 100n * USDT);
  await books.mine();
  await takeCoin(await coinOn(account.address)); // its initial coin on the devnet
  await topUpCoin();
  await books.mine(8);
});
afterAll(() => books.close());

async function coinOn(address: string): Promise<bigint> {
  const answer = await fetch(`${books.devnet.url}/wallet/getaccount`, {
    method: 'POST',
    body: JSON.stringify({ address, visible: true }),
  });
  return BigInt(((await answer.json()) as { balance?: number }).balance ?? 0);
}

/** The address signs itself. Free bandwidth of the day pays for it. */
async function takeCoin(sun: bigint): Promise<void> {
  const [from, to] = [order.address as Address, books.devnet.accounts[6]!.address as Address];
  await books.send(await books.sign({ from, to, contract: null, amountBaseUnits: baseUnits(sun) }));
  await books.mine(8);
}

async function topUpCoin(): Promise<void> {
  const [sweepId, orderPk, to] = [crypto.randomUUID(), crypto.randomUUID(), order.address as Address];
  await sql`insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
      cost_estimate) values (${sweepId}, ${CHAIN}, 'TRON', ${to}, 'USDT', ${books.devnet.tokens.USDT}, ${100n * USDT}, ${randomAddress()}, 'COLD',
      'TOP_UP', 1)`.execute(books.admin);
  const movement = {
    orderPk,
    chain: CHAIN,
    kind: 'GAS_TOP_UP',
    sweepId,
    symbol: 'TRX',
    contract: null,
    decimals: 6,
    displayDecimals: 6,
    amount: BROUGHT.toString(),
    wallet: books.wallet,
    receiver: to,
    seconds: 3_600,
  };
  await sql`select plan_movement(${JSON.stringify(movement)}::jsonb)`.execute(books.admin);
  const signed = await books.sign({ to, contract: null, amountBaseUnits: baseUnits(BROUGHT) });
  await books.store({ ...order, order_pk: orderPk, address: to, amount: BROUGHT }, signed);
  await books.send(signed);
  await books.recordVerified(signed);
}

async function reconcile() {
  const { out, errors } = await books.opentill('reconcile', '--json', '--addresses');
  const lines = out.split('\n');
  const whole = JSON.parse(lines.slice(lines.indexOf('{')).join('\n')) as {
    chains: { differences: Record<string, string>[]; explanations: { kind: string; amount: string }[] }[];
  };
  const accounts = lines
    .slice(0, lines.indexOf('{'))
    .map((line) => JSON.parse(line) as Record<string, string>);
  const isIt = (one: Record<string, string>) =>
    [one['subject'], one['address']].includes(order.address) && one['symbol'] === 'TRX';
  const [chain] = whole.chains;
  return {
    errors,
    accounts: accounts.filter(isIt),
    differences: chain!.differences.filter(isIt),
    unasked: chain!.explanations.filter(({ kind }) => kind === 'COIN_UNASKED').map(({ amount }) => amount),
  };
}

it('explains coin that was sent to a deposit address for fees', async () => {
  expect(await reconcile()).toMatchObject({
    accounts: [{ brought: `${BROUGHT}`, unswept: `${BROUGHT}`, onChain: `${BROUGHT}`, unexplained: '0' }],
    differences: [],
    unasked: [],
  });
});

it('explains coin from third parties without a difference', async () => {
  await books.devnet.control.fund(order.address, { trxSun: 3n * TRX });
  await books.mine(8);
  expect(await reconcile()).toMatchObject({
    accounts: [{ unswept: `${BROUGHT}`, unasked: `${3n * TRX}`, unexplained: '0' }],
    differences: [],
    unasked: [`${3n * TRX}`],
  });
});

it('reports coin that was taken away', async () => {
  await takeCoin(7n * TRX);
  expect(await reconcile()).toMatchObject({
    accounts: [{ unswept: `${BROUGHT}`, onChain: `${16n * TRX}`, unexplained: `${-4n * TRX}` }],
    differences: [{ kind: 'DEPOSIT_MISSING', amount: `${-4n * TRX}` }],
    unasked: [],
  });
});
