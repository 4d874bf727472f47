import type { Address } from '@opentill/chain/address-codec';
import { kindOfNetworks } from '@opentill/contracts/kind-of-networks';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import type { Db } from '@opentill/db/database';
import type { Family, NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { publicKeysFor, readPublicKeys } from '@opentill/wallet/public-keys';
import { sql } from 'kysely';
import { requiredVariable } from '../config.ts';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';
import { FAMILY_CODECS } from './keys/family-codecs.ts';
import { createMoneyReader, type MoneyReader } from './keys/money-reader.ts';
import { openMoneyReport, type MoneyReport } from './keys/money-report.ts';

export interface RestoreMoneyOptions {
  readonly publicKeys: string;
  readonly gap: string;
  readonly report?: string;
}

interface Skipped {
  readonly family: Family;
  readonly from: number;
  readonly to: number;
  /** Where indexes begin that were certainly not given out before the backup. */
  readonly next: number;
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
  if (!Number.isSafeInteger(gap) || gap < 1)
    throw new GatewayError<CliErrorCode>('CLI_USAGE', '--gap must be a number of addresses.', {
      retryable: false,
    });
  const networks = (await readNetworkFile(requiredVariable(context, 'NETWORKS_FILE'), context.env)).filter(
    ({ enabled }) => enabled,
  );
  const file = await readPublicKeys(options.publicKeys, FAMILY_CODECS);
  const keys = publicKeysFor(file, kindOfNetworks(networks));
  const deriver = createDepositDeriver(keys, FAMILY_CODECS);
  const report = await openMoneyReport(context.print, options.report, ({ address }) => address);
  try {
    await withOpsDatabase(context, async ({ kysely }) => {
      for (const skipped of await readSkipped(kysely)) {
        const codec = FAMILY_CODECS.find(({ family }) => family === skipped.family);
        const readers = networks.filter(({ family }) => family === skipped.family).map(createMoneyReader);
        if (codec === undefined || readers.length === 0) continue;
        const address = (index: number) => deriver.address(skipped.family, index);
        context.print(await search({ db: kysely, skipped, kind: keys.kind, readers, address, gap, report }));
      }
    });
  } finally {
    await report.close();
  }
  const totals = report.totals();
  for (const line of totals.length === 0 ? ['No money was found.'] : totals) context.print(line);
}

/** Looks at one family's. @returns what was looked at, in a sentence */
async function search(deps: {
  readonly db: Db;
  readonly skipped: Skipped;
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
    const known = await readKnown(db, family, at, at + ADDRESSES_AT_ONCE);
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

async function readSkipped(db: Db): Promise<readonly Skipped[]> {
  const { rows } = await sql<Skipped>`
    select s.family, s.from_index as "from", s.to_index as "to", coalesce((
        select max(d.derivation_index) + 1 from deposit_address d where d.family = s.family and d.derivation_index < s.to_index
      ), s.from_index) as next
    from skipped_index s order by s.family, s.from_index`.execute(db);
  return rows;
}

async function readKnown(db: Db, family: Family, from: number, to: number): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ index: number }>`
    select derivation_index as index from deposit_address
    where family = ${family} and derivation_index >= ${from} and derivation_index < ${to}`.execute(db);
  return new Set(rows.map(({ index }) => index));
}
