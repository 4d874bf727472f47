import type { NetworkConfig } from '@opentill/contracts/network-config';
import { kindOf } from '@opentill/contracts/network-kind';
import { NETWORK_KINDS, type Family, type NetworkKind } from '@opentill/domain/chains';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { publicKeysFor, readPublicKeys, type PublicKeys } from '@opentill/wallet/public-keys';
import { chooseNetworks } from '../../read-networks.ts';
import { cliError, usage, type CliContext } from '../../context.ts';
import { parseMarks, readMarks, type DepositMarks } from './next-deposit-indexes.ts';
import { CHAIN_FAMILIES, FAMILY_CODECS } from '../../families.ts';
import { findMoney, type SearchOutcome } from './search-balances.ts';
import { importKeys, type ImportOptions } from './import-keys.ts';
import { createMoneyReader } from './balance-reader.ts';
import { openMoneyReport, type MoneyReport } from './balance-report.ts';
import { publicKeysOfKeystore } from './public-keys-of-keystore.ts';
import { fileExists } from './write-wallet.ts';

export interface RecoverOptions extends ImportOptions {
  readonly mark?: readonly string[];
  readonly marksFromDatabase?: boolean;
  readonly gap: string;
  readonly chain?: readonly string[];
  readonly networksFile?: string;
  readonly report?: string;
}

/** Sends no transaction. If both files exist, only searches again. @throws GatewayError RECOVERY_INCOMPLETE */
export async function recoverKeys(context: CliContext, options: RecoverOptions): Promise<void> {
  const gap = parseGap(options.gap);
  const networks = await chooseNetworks(context, options.chain, options.networksFile);
  const marks = await marksOf(context, options);
  const publicKeys = await restoreWallet(context, options);
  const report = await openMoneyReport(context.print, options.report, ({ family, address }) =>
    CHAIN_FAMILIES[family].addressCodec.format(address),
  );
  try {
    const outcomes: SearchOutcome[] = [];
    for (const { family } of FAMILY_CODECS) {
      for (const kind of NETWORK_KINDS) {
        const searched = networksToSearch(networks, family, kind);
        if (searched.length === 0) continue;
        const mark = marks.get(family) ?? 0;
        const { addressCodec } = CHAIN_FAMILIES[family];
        const ofKind = publicKeysFor(publicKeys, kind);
        const outcome = await findMoney({
          family,
          kind,
          mark,
          gap,
          deriver: createDepositDeriver(ofKind, [addressCodec]),
          hotWallets: ofKind.families[family].hotWallets,
          readers: searched.map(createMoneyReader),
          onFound: (found) => report.add(found),
        });
        const keys = kind === 'main' ? family : `${family}, keys of test networks`;
        context.print(`${keys}: ${outcome.end} deposit addresses searched, next index ${mark}.`);
        outcomes.push(outcome);
      }
    }
    conclude(context, report, outcomes);
  } finally {
    await report.close();
  }
}

async function restoreWallet(context: CliContext, options: RecoverOptions): Promise<PublicKeys> {
  const { keystore, publicKeys: file, passphraseFile } = options;
  if (!((await fileExists(keystore)) && (await fileExists(file)))) await importKeys(context, options);
  else {
    const derived = await publicKeysOfKeystore(context, keystore, passphraseFile);
    const written = await readPublicKeys(file, FAMILY_CODECS);
    if (JSON.stringify(derived) !== JSON.stringify(written))
      throw usage(
        `${file} does not contain the public keys of ${keystore}; remove it, or name another file.`,
      );
    context.print(`Wallet ${derived.fingerprint} already exists.`);
  }
  return readPublicKeys(file, FAMILY_CODECS);
}

/** Keys of test networks are also searched on the chosen main networks: a customer may have paid real money to them. */
function networksToSearch(
  networks: readonly NetworkConfig[],
  family: Family,
  kind: NetworkKind,
): readonly NetworkConfig[] {
  const ofFamily = networks.filter((network) => network.family === family);
  const ofKind = ofFamily.filter((network) => kindOf(network) === kind);
  return ofKind.length > 0 && kind === 'test' ? ofFamily : ofKind;
}

function conclude(context: CliContext, report: MoneyReport, outcomes: readonly SearchOutcome[]): void {
  for (const line of report.totals()) context.print(line);
  const failures = [...new Map(outcomes.flatMap((outcome) => [...outcome.failures]))];
  for (const [chain, { message }] of failures)
    context.print(`${chain} could not be read completely: ${message}`);
  const gaps = [
    ...failures.map(([chain]) => `${chain} was not read completely`),
    ...(report.disputes === 0 ? [] : [`sources differ on ${report.disputes} balances`]),
  ];
  if (gaps.length === 0) return;
  const message = `The search is incomplete: ${gaps.join(', ')}. The wallet is restored; run it again to search again.`;
  throw cliError('RECOVERY_INCOMPLETE', message, { retryable: true });
}

async function marksOf(context: CliContext, options: RecoverOptions): Promise<DepositMarks> {
  const typed = parseMarks(options.mark ?? []);
  if (options.marksFromDatabase === true) return new Map([...(await readMarks(context)), ...typed]);
  if (typed.size === 0)
    throw usage(
      'Give --mark EVM=<next index>, or --marks-from-database; --mark EVM=0 if the index is not known.',
    );
  return typed;
}

function parseGap(text: string): number {
  if (/^[0-9]{1,7}$/.test(text)) return Number(text);
  throw usage('--gap must be a number of addresses.');
}
