import type { Address } from '@opentill/chain/address-codec';
import { networkKindOf } from '@opentill/contracts/network-kind';
import type { Db } from '@opentill/db/database';
import type { NetworkKind } from '@opentill/domain/chains';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { publicKeysFor, readPublicKeys } from '@opentill/wallet/public-keys';
import { chooseNetworks } from '../read-networks.ts';
import { usage, type CliContext } from '../context.ts';
import { withOpsDatabase } from '../open-database.ts';
import { FAMILY_CODECS } from '../families.ts';
import { createMoneyReader, type MoneyReader } from './keys/balance-reader.ts';
import { readKnownIndexes, readSkippedIndexes, type SkippedIndexes } from '../store/deposit-indexes.ts';
import { openMoneyReport, type MoneyReport } from './keys/balance-report.ts';

export interface RestoreMoneyOptions {
  readonly publicKeys: string;
  readonly gap: string;
  readonly report?: string;
}

const ADDRESSES_PER_PAGE = 250;

/**
 * The ledger assigns such money to no merchant; the operator finds its owner. Searches until `gap` indexes in a row
 * above the last one with an order are empty: each start of an api process skips up to 32,768.
 */
export async function findForgottenMoney(context: CliContext, options: RestoreMoneyOptions): Promise<void> {
  const gap = Number(options.gap);
  if (!Number.isSafeInteger(gap) || gap < 1) throw usage('--gap must be a number of addresses.');
  const networks = await chooseNetworks(context, undefined);
  const file = await readPublicKeys(options.publicKeys, FAMILY_CODECS);
  const keys = publicKeysFor(file, networkKindOf(networks));
  const deriver = createDepositDeriver(keys, FAMILY_CODECS);
  const report = await openMoneyReport(context.print, options.report, ({ address }) => address);
  try {
    await withOpsDatabase(context, async (db) => {
      for (const skipped of await readSkippedIndexes(db)) {
        const readers = networks.filter(({ family }) => family === skipped.family).map(createMoneyReader);
        if (readers.length === 0) continue;
        const address = (index: number) => deriver.address(skipped.family, index);
        context.print(await search({ db, skipped, kind: keys.kind, readers, address, gap, report }));
      }
    });
  } finally {
    await report.close();
  }
  for (const line of report.totals()) context.print(line);
}

async function search(deps: {
  readonly db: Db;
  readonly skipped: SkippedIndexes;
  readonly kind: NetworkKind;
  readonly readers: readonly MoneyReader[];
  readonly address: (index: number) => Address;
  readonly gap: number;
  readonly report: MoneyReport;
}): Promise<string> {
  const { db, skipped, kind, readers, address, gap, report } = deps;
  const { family, from, to, next } = skipped;
  let end = Math.min(to, next + gap);
  let searched = 0;
  for (let at = from; at < end; at += ADDRESSES_PER_PAGE) {
    const known = await readKnownIndexes(db, family, at, at + ADDRESSES_PER_PAGE);
    const page = Array.from({ length: Math.min(ADDRESSES_PER_PAGE, end - at) }, (_, place) => at + place);
    const holders = page
      .filter((index) => !known.has(index))
      .map((index) => ({ index, address: address(index) }));
    if (holders.length === 0) continue;
    const money = await Promise.all(readers.map((reader) => reader.read(holders.map((one) => one.address))));
    searched += holders.length;
    for (const [place, holder] of holders.entries()) {
      const found = money.flatMap((ofChain) => ofChain[place] ?? []);
      if (found.length === 0) continue;
      await report.add({ family, kind, ...holder, money: found });
      end = Math.min(to, Math.max(end, holder.index + 1 + gap));
    }
  }
  return `${family}: ${searched} addresses without an order searched, from ${from} to ${end}; skipped up to ${to}.`;
}
