import { beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { createScanStore, type ScanStore } from '../src/store/scan-store.ts';
import { address, giveOut } from './scan-harness.ts';

const [ALICE, BOB] = [address('alice'), address('bob')];
const [HOT, TRON_HOT] = [address('hot'), address('tronhot')];
/** More than one statement can look up. */
const STRANGERS = Array.from({ length: 25_000 }, (_, i) => address(`stranger${i}`));

const database = await openTestDatabase();
const { admin } = database;
const scanner = database.open('scanner_evm');

let store: ScanStore;

beforeAll(async () => {
  store = createScanStore({ db: scanner.kysely, schema: 'scanner_evm', clock: systemClock, newId });
  await giveOut(admin.kysely, [ALICE, BOB]);
  await aHotWalletAddress(admin.kysely, { family: 'EVM', address: HOT });
  await aHotWalletAddress(admin.kysely, { family: 'TRON', address: TRON_HOT });
});

const found = async (...asked: Parameters<ScanStore['findRecipients']>[1]): Promise<readonly string[]> =>
  [...(await store.findRecipients('EVM', asked))].toSorted();

describe('findRecipients', () => {
  it('returns deposit addresses and hot wallets of the family only', async () => {
    expect(await found(STRANGERS[0]!, HOT, ALICE, TRON_HOT, STRANGERS[1]!)).toEqual([ALICE, HOT].toSorted());
  });

  it('returns only requested addresses', async () => {
    expect(await found(BOB, STRANGERS[0]!)).toEqual([BOB]);
    expect(await found(STRANGERS[0]!)).toEqual([]);
    expect(await found()).toEqual([]);
  });

  it('returns any number of addresses, for orders of any status', async () => {
    const many = Array.from({ length: 1_100 }, (_, i) => address(`ours${i}`));
    await giveOut(admin.kysely, many);
    await sql`update orders set status = 'EXPIRED' where order_pk in (
      select order_pk from deposit_address where derivation_index % 2 = 0)`.execute(admin.kysely);
    expect(await found(...STRANGERS.slice(0, 500), ...many)).toEqual(many.toSorted());
  });

  it('finds addresses at any position of a long list', async () => {
    expect(await found(ALICE, ...STRANGERS.slice(0, 12_000), HOT, ...STRANGERS.slice(12_000), BOB)).toEqual(
      [ALICE, BOB, HOT].toSorted(),
    );
  });
});
