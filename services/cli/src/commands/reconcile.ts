import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { ownerBalance } from '@opentill/db/top-ups';
import { withDatabase } from '../open-database.ts';
import { progressPrinter } from '../print-progress.ts';
import { chooseNetworks } from '../read-networks.ts';
import { requiredVariable } from '../config.ts';
import { cliError, usage, type CliContext } from '../context.ts';
import { jsonLines } from '../print-table.ts';
import { bookGas, findUnbookedGas } from '../reconcile/book-gas.ts';
import { createComparison } from '../reconcile/create-comparison.ts';
import { addressJson, addressLine } from '../reconcile/print-addresses.ts';
import { reconciliationJson, reconciliationLines } from '../reconcile/print-reconciliation.ts';
import { assetsOf } from '../reconcile/store/read-chain-ledger.ts';
import type { ReconcileWork } from '../reconcile/reconcile-chain.ts';
import type { Reconciliation } from '../reconcile/reconciliation.ts';
import { displayAmount } from '../reconcile/display-amount.ts';

export interface ReconcileOptions {
  readonly chain?: string;
  readonly json?: boolean;
  readonly paidOnly?: boolean;
  readonly bookGas?: boolean;
  readonly addresses?: boolean;
}

/** Sums over all transfers of a large shop take longer than the services' queries. */
const STATEMENT_TIMEOUT_MS = 120_000;

/**
 * Compares at each chain's newest verified block. Changes data only with `bookGas`. @throws GatewayError BOOKS_DIFFER
 */
export async function reconcile(context: CliContext, options: ReconcileOptions): Promise<void> {
  const file = requiredVariable(context, 'NETWORKS_FILE');
  const networks = await chooseNetworks(
    context,
    options.chain === undefined ? undefined : [options.chain],
    file,
  );
  if (networks.length === 0) throw usage(`No network is enabled in ${file}.`);
  const url = requiredVariable(context, 'OPS_DATABASE_URL');
  const database = { url, applicationName: 'opentill-reconcile', poolMax: 2 };
  const done: Reconciliation[] = [];
  await withDatabase({ ...database, statementTimeoutMs: STATEMENT_TIMEOUT_MS }, async (db) => {
    for (const network of networks) {
      const one = await reconcileNetwork(context, db, network, options);
      if (one === undefined)
        printNote(context, options, `${network.chain}: no scanner has verified a block yet.`);
      else done.push(one);
    }
  });
  if (options.json === true)
    for (const line of jsonLines({ chains: done.map(reconciliationJson) })) context.print(line);
  const differences = done.flatMap((one) => one.differences);
  if (differences.length > 0) {
    throw cliError(
      'BOOKS_DIFFER',
      `${differences.length} ${differences.length === 1 ? 'difference' : 'differences'} between ledger and chain.`,
    );
  }
}

async function reconcileNetwork(
  context: CliContext,
  db: Db,
  network: NetworkConfig,
  options: ReconcileOptions,
): Promise<Reconciliation | undefined> {
  const onProgress = progressPrinter(
    context,
    (addresses) => `${network.chain}: ${addresses} deposit addresses read`,
  );
  const onRead = options.addresses === true ? createPrinter(context, network, options) : () => undefined;
  const compare = createComparison({ db, network, paidOnly: options.paidOnly === true, onProgress, onRead });
  const owner = await ownerBalance(db, network.chain, network.nativeSymbol);
  let one = await compare();
  const gas = one === undefined || options.bookGas !== true ? undefined : findUnbookedGas(one);
  if (one !== undefined && gas !== undefined) {
    const ref = await bookGas(db, gas, owner);
    const amount = displayAmount(one.books, gas.symbol, gas.amountBaseUnits);
    printNote(
      context,
      options,
      `Booked ${amount} on ${gas.chain} as coin for fees, as of block ${gas.height}: ${ref}`,
    );
    one = await compare();
  }
  if (one !== undefined && options.json !== true)
    for (const line of reconciliationLines(one)) context.print(line);
  return one;
}

/** Prints each reading at once: there may be millions. With --json one line each, before the rest. */
function createPrinter(
  context: CliContext,
  network: NetworkConfig,
  { json }: ReconcileOptions,
): ReconcileWork['onRead'] {
  const { chain } = network;
  const books = { chain, assets: assetsOf(network) };
  return (readings) => {
    for (const one of readings)
      context.print(json === true ? JSON.stringify(addressJson(chain, one)) : addressLine(books, one));
  };
}

/** With --json standard output holds only JSON. */
function printNote(context: CliContext, { json }: ReconcileOptions, line: string): void {
  if (json === true) context.printError(line);
  else context.print(line);
}
