import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { keepLease, type Lease } from '@opentill/db/lease';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import { CHAIN, createStaticChainWorld, type StaticChainWorld } from './static-chain-world.ts';

let world: StaticChainWorld;
let signer: Database;
let lease: Lease;
let store: PayoutStore;
beforeAll(async () => {
  world = await createStaticChainWorld();
  signer = world.open('signer');
  const db = signer.kysely;
  store = createPayoutStore(db, { chain: CHAIN, wallet: world.wallet }, { newId, clock: systemClock });
  const holder = {
    db,
    schema: 'signer',
    name: 'wallet/release-halt',
    holder: 'test',
    ttlMs: 600_000,
  } as const;
  lease = (await keepLease(holder).acquire())!;
});
afterAll(async () => {
  await signer.close();
  await world.close();
});

test('keeps a release despite an older pass, and halts again for later transactions', async () => {
  const halt = (mark: number) => store.haltRestored(lease, mark, 'sent from here, and not known');
  expect(await halt(2)).toBe(true);
  expect(await halt(2)).toBe(false);
  await sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'looked'`.execute(
    world.admin,
  );
  expect(await halt(2)).toBe(false);
  expect(await halt(1)).toBe(false);
  expect(await halt(3)).toBe(true);
});
