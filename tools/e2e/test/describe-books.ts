import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { waitUntil } from '@opentill/testkit/wait-until';
import {
  findCallbackProblems,
  findChainProblems,
  findLedgerProblems,
  findPayoutProblems,
} from '../src/check-books.ts';
import { runOpentill, type CommandResult } from '../src/run-opentill.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

export function describeBooks(under: () => GatewayUnderTest<RunningGateway>): void {
  const bookedChains = () => [under().chains.ETH_SEPOLIA, under().chains.BSC_TEST, under().tron!];

  it('leaves the ledger equal to the chains, according to `opentill reconcile`', async () => {
    let last: CommandResult = { code: -1, out: '', errors: '' };
    const areEqual = async () => (last = await runOpentill(under().gateway, ['reconcile'])).code === 0;
    // On a timeout, the next assertion shows the differences.
    await waitUntil('ledger and chain are equal', areEqual, WAIT_MS).catch(() => undefined);
    const { code, out, errors } = last;
    expect({ code, errors, differences: out.match(/ DIFF .*/g) }).toEqual({
      code: 0,
      errors: '',
      differences: null,
    });
    expect(out.match(/ hot wallets .* equal/g)).toHaveLength(12); // two tokens and the coin, on four chains
  });

  it('leaves a balanced ledger equal to the chains, and callbacks delivered in order', async () => {
    expect(await under().findProblems()).toEqual([]);
  });

  describe('check-books detects', () => {
    class Undone extends Error {}

    const FINDERS = {
      ledger: findLedgerProblems,
      chains: async (db: Db) => findChainProblems(db, bookedChains()),
      payouts: async (db: Db) => findPayoutProblems(db, bookedChains(), under().gateway.wallet),
      callbacks: async (db: Db) => findCallbackProblems(db, under().receiver.received),
    };

    async function problemsAfter(tampering: string, find: keyof typeof FINDERS): Promise<string[]> {
      let problems: string[] = [];
      const undone = under()
        .database.kysely.transaction()
        .execute(async (tx) => {
          // Disables triggers, which would reject the change.
          await sql`set local session_replication_role = replica`.execute(tx);
          await sql.raw(tampering).execute(tx);
          problems = await FINDERS[find](tx);
          throw new Undone();
        });
      await expect(undone).rejects.toThrow(Undone);
      return problems;
    }

    it.each([
      [
        'ledger',
        'a balance that differs from its postings',
        `update ledger_account set balance = balance + 1 where kind = 'MERCHANT'`,
        /its postings sum to/,
      ],
      [
        'ledger',
        'a posting without its counterpart',
        `delete from ledger_posting where amount < 0 and ledger_tx_id = (select max(ledger_tx_id) from ledger_transaction where kind = 'DEPOSIT')`,
        /does not sum to zero/,
      ],
      [
        'ledger',
        'a deposit that was never booked',
        `delete from transfer_settlement where transfer_id = (select min(transfer_id) from transfer where state = 'VERIFIED')`,
        /is VERIFIED, booked: f/,
      ],
      [
        'chains',
        'a transfer that was never seen',
        `delete from transfer_settlement s using transfer t where t.transfer_id = s.transfer_id and s.booked; delete from transfer; delete from ledger_posting; update ledger_account set balance = 0`,
        /on chain, 0 in the ledger/,
      ],
      [
        'ledger',
        'an order credited with more than was paid',
        `update orders set actual_amount = actual_amount + 1 where status = 'SUCCESS'`,
        /is SUCCESS with/,
      ],
      [
        'payouts',
        'a payout that landed twice',
        `insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at)
           select chain, tx_hash || '-', family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at
           from own_transaction t join own_transaction_fate f using (chain, tx_hash, family) where f.state = 'VERIFIED' limit 1;
         insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee)
           select chain, tx_hash || '-', family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee
           from own_transaction_fate where (chain, tx_hash || '-') in (select chain, tx_hash from own_transaction)`,
        /landed 2 times/,
      ],
      [
        'payouts',
        'a payout that delivered another amount',
        `update own_transaction_fate set delivered = delivered - 1 where delivered > 0`,
        /is SUCCESS with 25025\d*, and delivered 25024/,
      ],
      [
        'payouts',
        'an unused nonce',
        `update wallet_nonce n set nonce = nonce + 1 where nonce = (select max(nonce) from wallet_nonce m where m.chain = n.chain)`,
        /nonces of 0x\w+ on \w+: \d+ of/,
      ],
      [
        'payouts',
        'a hot wallet that holds another amount',
        `update ledger_account set balance = balance + 1 where kind = 'HOT_AVAILABLE'; update ledger_account set balance = balance - 1 where kind = 'OWNER'`,
        /hot wallet, \w+ USDT: \d+ on chain/,
      ],
      [
        'callbacks',
        'a callback that differs from its notification',
        `update notification set data = replace(data, 'SUCCESS', 'EXPIRED') where notify_type = 'ORDER_SUCCESS'`,
        /equals no notification/,
      ],
      [
        'callbacks',
        'callbacks in the wrong order',
        `update notification set sequence = 100 - sequence`,
        /arrived after a newer one/,
      ],
      [
        'callbacks',
        'a callback that was not delivered',
        `update delivery set state = 'PENDING' where event_id = (select min(event_id::text)::uuid from delivery)`,
        /is PENDING/,
      ],
      [
        'callbacks',
        'an order that became SUCCESS without a callback',
        `update orders set status = 'SUCCESS', actual_amount = null where status = 'EXPIRED'`,
        /is SUCCESS without a callback/,
      ],
    ] as const)('%s: %s', async (find, _what, tampering, words) => {
      expect(await problemsAfter(tampering, find)).toContainEqual(expect.stringMatching(words));
    });
  });
}
