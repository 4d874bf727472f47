import type { Command } from 'commander';
import {
  createOperator,
  type CreateOperatorOptions,
  listOperators,
  printAudit,
  recoverAdministrator,
  rotateOperator,
  setOperator,
  type SetOperatorOptions,
} from './commands/ops/operators.ts';
import {
  decideOrder,
  exportCsv,
  listOrders,
  type ExportOptions,
  type ListOrdersOptions,
} from './commands/ops/orders.ts';
import {
  approvePayout,
  decidePayout,
  listPayouts,
  showPayout,
  vetoPayout,
  type ApproveOptions,
} from './commands/ops/payouts.ts';
import {
  closeIncident,
  listChains,
  listHalts,
  listHolds,
  listIncidents,
  pauseChain,
  releaseHalt,
  releaseHold,
  resumeChain,
  setHalt,
  setHold,
  type ShowOptions,
} from './commands/ops/stops.ts';
import type { CliContext } from './context.ts';
import { addSweeps } from './sweep-commands.ts';

const LIMIT = ['--limit <number>', 'the most that are shown', '50'] as const;
const REASON = ['--reason <text>', 'why; kept in the audit log'] as const;
const CHAIN = ['--chain <chain>', 'of this chain alone'] as const;
const ALL = ['--all', 'those that have ended, too'] as const;
const TOKEN_FILE = [
  '--token-file <file>',
  'write the token there, for its owner alone, instead of showing it',
] as const;

/** The commands of operators on the ops service: `opentill orders …`, `payout …`, `halt …`, `operator …` and so on. */
export function addOps(program: Command, context: CliContext): void {
  addOrders(program, context);
  addPayouts(program, context);
  addStops(program, context);
  addChains(program, context);
  addSweeps(program, context);
  addOperators(program, context);
}

function addOrders(program: Command, context: CliContext): void {
  const orders = program.command('orders').description('orders of the shops');
  orders
    .command('list')
    .description('newest first')
    .option('--merchant <id>')
    .option('--status <status>')
    .option('--type <type>', 'collection or payout')
    .option(...CHAIN)
    .option('--address <address>', 'deposit address, or receiver')
    .option('--txid <txid>')
    .option('--since <time>', '2026-03-01T12:00:00Z, or 24h (ago)')
    .option('--until <time>')
    .option(...LIMIT)
    .action((options: ListOrdersOptions) => listOrders(context, options));
  orders
    .command('accept')
    .description('credit a collection that expired late or underpaid, as it was paid')
    .argument('<orderPk>')
    .requiredOption(...REASON)
    .action((orderPk: string, options: { reason: string }) =>
      decideOrder(context, orderPk, 'ACCEPT', options),
    );
  orders
    .command('refuse')
    .description('make a collection FAILED')
    .argument('<orderPk>')
    .requiredOption(...REASON)
    .action((orderPk: string, options: { reason: string }) =>
      decideOrder(context, orderPk, 'REFUSE', options),
    );

  const files = program.command('export').description('CSV files for the accountant');
  for (const what of ['orders', 'ledger'] as const) {
    files
      .command(what)
      .requiredOption('--from <time>', 'from then on: 2026-03-01, 2026-03-01T12:00:00Z, or 30d (ago)')
      .requiredOption('--until <time>', 'before then')
      .requiredOption('--out <file>', 'never one that is there')
      .action((options: ExportOptions) => exportCsv(context, what, options));
  }
}

function addPayouts(program: Command, context: CliContext): void {
  const payout = program.command('payout').description('payouts: what they wait for, approvals, vetoes');
  payout
    .command('list')
    .description('newest first')
    .option('--waiting', 'those that wait for approval')
    .option('--stuck', 'those that something keeps from being signed, or from a block')
    .option('--state <state>')
    .option(...CHAIN)
    .option('--merchant <id>')
    .option(...LIMIT)
    .action((options: Parameters<typeof listPayouts>[1]) => listPayouts(context, options));
  payout
    .command('show')
    .argument('<orderPk>')
    .action((orderPk: string) => showPayout(context, orderPk));
  payout
    .command('approve')
    .description('show a payout in plain words, ask, and sign it with an approver’s own key')
    .argument('<orderPk>')
    .requiredOption('--key-file <file>', 'the approver’s encrypted key')
    .option('--passphrase-file <file>', 'file with its passphrase (otherwise asked for)')
    .option('--yes', 'do not ask')
    .action((orderPk: string, options: ApproveOptions) => approvePayout(context, orderPk, options));
  payout
    .command('veto')
    .description('refuse a payout that is not signed yet')
    .argument('<orderPk>')
    .requiredOption(...REASON)
    .action((orderPk: string, options: { reason: string }) => vetoPayout(context, orderPk, options));
  payout
    .command('decide')
    .description(
      'say whether a payout in doubt was paid: by a transaction that the gateway does not know, or by none (ADMIN)',
    )
    .argument('<orderPk>')
    .option('--pay-again', 'nothing paid it: look at the chain first')
    .option('--paid-by <txid>', 'this transaction paid it')
    .requiredOption(...REASON)
    .action((orderPk: string, options: Parameters<typeof decidePayout>[2]) =>
      decidePayout(context, orderPk, options),
    );
}

function addStops(program: Command, context: CliContext): void {
  const halt = program
    .command('halt')
    .description('kill switches: nothing new is signed on a chain or from a wallet');
  halt
    .command('set')
    .requiredOption('--chain <chain>')
    .option('--wallet <address>', 'this hot wallet alone')
    .requiredOption(...REASON)
    .action((options: Parameters<typeof setHalt>[1]) => setHalt(context, options));
  halt
    .command('release')
    .argument('<haltId>')
    .requiredOption(...REASON)
    .action((haltId: string, options: { reason: string }) => releaseHalt(context, haltId, options));
  halt
    .command('list')
    .option(...CHAIN)
    .option(...ALL)
    .action((options: ShowOptions) => listHalts(context, options));

  const hold = program.command('hold').description('payouts of one asset, held');
  hold
    .command('set')
    .requiredOption('--chain <chain>')
    .requiredOption('--symbol <symbol>')
    .requiredOption(...REASON)
    .action((options: Parameters<typeof setHold>[1]) => setHold(context, options));
  hold
    .command('release')
    .argument('<holdId>')
    .requiredOption(...REASON)
    .action((holdId: string, options: { reason: string }) => releaseHold(context, holdId, options));
  hold
    .command('list')
    .option(...CHAIN)
    .option(...ALL)
    .action((options: ShowOptions) => listHolds(context, options));

  const incident = program.command('incident').description('what needs an operator’s eyes');
  incident
    .command('list')
    .option(...CHAIN)
    .option(...ALL)
    .action((options: ShowOptions) => listIncidents(context, options));
  incident
    .command('close')
    .argument('<incidentId>')
    .requiredOption(...REASON)
    .action((incidentId: string, options: { reason: string }) => closeIncident(context, incidentId, options));
}

function addChains(program: Command, context: CliContext): void {
  const chain = program.command('chain').description('networks and their scanners');
  chain
    .command('list')
    .description('how far each is read, and by whom')
    .action(() => listChains(context));
  chain
    .command('pause')
    .description('stop reading a chain')
    .argument('<chain>')
    .requiredOption(...REASON)
    .action((name: string, options: { reason: string }) => pauseChain(context, name, options));
  chain
    .command('resume')
    .argument('<chain>')
    .requiredOption(...REASON)
    .action((name: string, options: { reason: string }) => resumeChain(context, name, options));
}

function addOperators(program: Command, context: CliContext): void {
  const operator = program.command('operator').description('who may use the ops service');
  operator
    .command('create')
    .description('a new operator; the first one goes into the database itself and needs no OPS_TOKEN_FILE')
    .requiredOption('--id <id>')
    .option('--name <name>')
    .requiredOption('--role <role>', 'viewer, support, finance or admin')
    .option(...TOKEN_FILE)
    .action((options: CreateOperatorOptions) => createOperator(context, options));
  operator
    .command('set')
    .argument('<id>')
    .option('--name <name>')
    .option('--role <role>')
    .option('--enabled')
    .option('--disabled', 'the token is refused at once')
    .action((id: string, options: SetOperatorOptions) => setOperator(context, id, options));
  operator
    .command('rotate')
    .description('a new token: yours, or another’s')
    .argument('[id]')
    .option(...TOKEN_FILE)
    .action((id: string | undefined, options: { tokenFile?: string }) =>
      rotateOperator(context, id, options),
    );
  operator
    .command('recover')
    .description('when no administrator has a token: makes this operator one, by OPS_DATABASE_URL; audited')
    .argument('<id>')
    .option(...TOKEN_FILE)
    .action((id: string, options: { tokenFile?: string }) => recoverAdministrator(context, id, options));
  operator.command('list').action(() => listOperators(context));
  program
    .command('audit')
    .description('every act of every operator, newest first')
    .option('--operator <id>')
    .option('--action <operation>')
    .option('--subject <subject>')
    .option('--refused', 'what was refused alone')
    .option('--since <time>')
    .option(...LIMIT)
    .action((options: Parameters<typeof printAudit>[1]) => printAudit(context, options));
}
