import type { Address } from '@opentill/chain/address-codec';
import { kindOfNetworks } from '@opentill/contracts/kind-of-networks';
import type { Db } from '@opentill/db/database';
import type { NetworkKind } from '@opentill/domain/chains';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { publicKeysFor, readPublicKeys } from '@opentill/wallet/public-keys';
import { chooseNetworks } from '../read-networks.ts';
import { usage, type CliContext } from '../context.ts';
import { withOpsDatabase } from '../open-database.ts';
import { FAMILY_CODECS } from '../families.ts';
import { createMoneyReader, type MoneyReader } from './keys/money-reader.ts';
import { readKnownIndexes, readSkippedIndexes, type SkippedIndexes } from '../store/deposit-indexes.ts';
import { openMoneyReport, type MoneyReport } from './keys/money-report.ts';

export interface RestoreMoneyOptions {
  readonly publicKeys: string;
  readonly gap: string;
  readonly report?: string;
}

const ADDRESSES_AT_ONCE = 250;

/**
 * Lists the money on addresses that a restore passed over: orders made after the backup are forgotten, what their payers
 * sent is not. Such money is nobody's in the books; the operator finds out whose it is. Looks at every index that may have
 * been given out, until so many in a row behind the last one with an order hold nothing. Each start of an api process leaves
 * up to 32,768 behind that it never gave out.
 * @throws GatewayError CLI_USAGE, CONFIG_INVALID, a ReaderErrorCode, a DatabaseErrorCode
 */
export async function findForgottenMoney(context: CliContext, options: RestoreMoneyOptions): Promise<void> {
  const gap = Number(options.gap);
  if (!Number.isSafeInteger(gap) || gap < 1) throw usage('--gap must be a number of addresses.');
  const networks = await chooseNetworks(context, undefined);
  const file = await readPublicKeys(options.publicKeys, FAMILY_CODECS);
  const keys = publicKeysFor(file, kindOfNetworks(networks));
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

/** Looks at one family's. @returns what was looked at, in a sentence */
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
  let looked = 0;
  for (let at = from; at < end; at += ADDRESSES_AT_ONCE) {
    const known = await readKnownIndexes(db, family, at, at + ADDRESSES_AT_ONCE);
    const page = Array.from({ length: Math.min(ADDRESSES_AT_ONCE, end - at) }, (_, place) => at + place);
    const holders = page
      .filter((index) => !known.has(index))
      .map((index) => ({ index, address: address(index) }));
    if (holders.length === 0) continue;
    const money = await Promise.all(readers.map((reader) => reader.read(holders.map((one) => one.address))));
    looked += holders.length;
    for (const [place, holder] of holders.entries()) {
      const found = money.flatMap((ofChain) => ofChain[place] ?? []);
      if (found.length === 0) continue;
      await report.add({ family, kind, ...holder, money: found });
      end = Math.min(to, Math.max(end, holder.index + 1 + gap));
    }
  }
  return `${family}: ${looked} addresses without an order looked at, from ${from} to ${end}; passed over up to ${to}.`;
}
