import type { Command } from 'commander';
import { ALL, CHAIN, needed, option, REASON, type AddCommand } from './add-command.ts';
import {
  createOperator,
  listOperators,
  printAudit,
  recoverAdministrator,
  rotateOperator,
  setOperator,
} from './commands/ops/operators.ts';
import { acceptOrder, exportLedger, exportOrders, listOrders, refuseOrder } from './commands/ops/orders.ts';
import { approvePayout, decidePayout, listPayouts, showPayout, vetoPayout } from './commands/ops/payouts.ts';
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
} from './commands/ops/stops.ts';
import { addSweeps } from './sweep-commands.ts';

const LIMIT = option('--limit <number>', 'the most that are shown', '50');
const ON_CHAIN = needed('--chain <chain>');

/** The commands of operators on the ops service: `opentill orders …`, `payout …`, `halt …`, `operator …` and so on. */
export function addOps(program: Command, add: AddCommand): void {
  addOrders(program, add);
  addPayouts(program, add);
  addStops(program, add);
  addSweeps(program, add);
  addOperators(program, add);
}

function addOrders(program: Command, add: AddCommand): void {
  const orders = program.command('orders').description('orders of the shops');
  const which = [
    option('--merchant <id>'),
    option('--status <status>'),
    option('--type <type>', 'collection or payout'),
    CHAIN,
    option('--address <address>', 'deposit address, or receiver'),
    option('--txid <txid>'),
    option('--since <time>', '2026-03-01T12:00:00Z, or 24h (ago)'),
    option('--until <time>'),
    LIMIT,
  ];
  add(orders, 'list', 'newest first', which, listOrders);
  const accept = 'credit a collection that expired late or underpaid, as it was paid';
  add(orders, 'accept <orderPk>', accept, [REASON], acceptOrder);
  add(orders, 'refuse <orderPk>', 'make a collection FAILED', [REASON], refuseOrder);

  const files = program.command('export').description('CSV files for the accountant');
  const time = [
    needed('--from <time>', 'from then on: 2026-03-01, 2026-03-01T12:00:00Z, or 30d (ago)'),
    needed('--until <time>', 'before then'),
    needed('--out <file>', 'never one that is there'),
  ];
  add(files, 'orders', '', time, exportOrders);
  add(files, 'ledger', '', time, exportLedger);
}

function addPayouts(program: Command, add: AddCommand): void {
  const payout = program.command('payout').description('payouts: what they wait for, approvals, vetoes');
  const which = [
    option('--waiting', 'those that wait for approval'),
    option('--stuck', 'those that something keeps from being signed, or from a block'),
    option('--state <state>'),
    CHAIN,
    option('--merchant <id>'),
    LIMIT,
  ];
  add(payout, 'list', 'newest first', which, listPayouts);
  add(payout, 'show <orderPk>', '', [], showPayout);
  const key = [
    needed('--key-file <file>', 'the approver’s encrypted key'),
    option('--passphrase-file <file>', 'file with its passphrase (otherwise asked for)'),
    option('--yes', 'do not ask'),
  ];
  const approve = 'show a payout in plain words, ask, and sign it with an approver’s own key';
  add(payout, 'approve <orderPk>', approve, key, approvePayout);
  add(payout, 'veto <orderPk>', 'refuse a payout that is not signed yet', [REASON], vetoPayout);
  const decide =
    'say whether a payout in doubt was paid: by a transaction that the gateway does not know, or by none (ADMIN)';
  const paid = [
    option('--pay-again', 'nothing paid it: look at the chain first'),
    option('--paid-by <txid>', 'this transaction paid it'),
    REASON,
  ];
  add(payout, 'decide <orderPk>', decide, paid, decidePayout);
}

function addStops(program: Command, add: AddCommand): void {
  const halt = program
    .command('halt')
    .description('kill switches: nothing new is signed on a chain or from a wallet');
  const wallet = option('--wallet <address>', 'this hot wallet alone');
  add(halt, 'set', '', [ON_CHAIN, wallet, REASON], setHalt);
  add(halt, 'release <haltId>', '', [REASON], releaseHalt);
  add(halt, 'list', '', [CHAIN, ALL], listHalts);

  const hold = program.command('hold').description('payouts of one asset, held');
  add(hold, 'set', '', [ON_CHAIN, needed('--symbol <symbol>'), REASON], setHold);
  add(hold, 'release <holdId>', '', [REASON], releaseHold);
  add(hold, 'list', '', [CHAIN, ALL], listHolds);

  const incident = program.command('incident').description('what needs an operator’s eyes');
  add(incident, 'list', '', [CHAIN, ALL], listIncidents);
  add(incident, 'close <incidentId>', '', [REASON], closeIncident);

  const chain = program.command('chain').description('networks and their scanners');
  add(chain, 'list', 'how far each is read, and by whom', [], listChains);
  add(chain, 'pause <chain>', 'stop reading a chain', [REASON], pauseChain);
  add(chain, 'resume <chain>', '', [REASON], resumeChain);
}

function addOperators(program: Command, add: AddCommand): void {
  const operator = program.command('operator').description('who may use the ops service');
  const tokenFile = option(
    '--token-file <file>',
    'write the token there, for its owner alone, instead of showing it',
  );
  const created = [
    needed('--id <id>'),
    option('--name <name>'),
    needed('--role <role>', 'viewer, support, finance or admin'),
    tokenFile,
  ];
  const create = 'a new operator; the first one goes into the database itself and needs no OPS_TOKEN_FILE';
  add(operator, 'create', create, created, createOperator);
  const settings = [
    option('--name <name>'),
    option('--role <role>'),
    option('--enabled'),
    option('--disabled', 'the token is refused at once'),
  ];
  add(operator, 'set <id>', '', settings, setOperator);
  add(operator, 'rotate [id]', 'a new token: yours, or another’s', [tokenFile], rotateOperator);
  const recover = 'when no administrator has a token: makes this operator one, by OPS_DATABASE_URL; audited';
  add(operator, 'recover <id>', recover, [tokenFile], recoverAdministrator);
  add(operator, 'list', '', [], listOperators);
  const which = [
    option('--operator <id>'),
    option('--action <operation>'),
    option('--subject <subject>'),
    option('--refused', 'what was refused alone'),
    option('--since <time>'),
    LIMIT,
  ];
  add(program, 'audit', 'every act of every operator, newest first', which, printAudit);
}
