import { checksum } from '@opentill/db/migrate';
import { isBeforeRelease, MIGRATIONS } from '@opentill/db/migrations';
import { SERVICE_ROLES, serviceRole } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';
import { findMissingTopology } from '@opentill/messaging/find-missing-topology';
import { withDatabase } from '../open-database.ts';
import { fail, ok, sentence, type Finding } from './finding.ts';
import { readDatabaseState, type DatabaseState } from '../store/read-database-state.ts';

const POSTGRES_VERSION_MIN = 150_000;
const RUN_SETUP = 'Run opentill setup.';

/** Parts without a URL are not examined. */
export interface Deployment {
  readonly databaseUrl?: string | undefined;
  readonly amqpUrl?: string | undefined;
}

export async function examineDeployment(deployment: Deployment): Promise<readonly Finding[]> {
  const { databaseUrl, amqpUrl } = deployment;
  return [
    ...(databaseUrl === undefined ? [] : await examineDatabase(databaseUrl)),
    ...(amqpUrl === undefined ? [] : [await examineBroker(amqpUrl)]),
  ];
}

async function examineDatabase(url: string): Promise<readonly Finding[]> {
  try {
    const options = { url, applicationName: 'opentill-doctor', poolMax: 1 };
    const state = await withDatabase(options, readDatabaseState);
    return [connected(state), migrated(state), rolesOf(state)];
  } catch (error) {
    return [notReached(error, 'database', 'Check its URL, role and password, and that it runs.')];
  }
}

function connected({ currentRole, versionNumber }: DatabaseState): Finding {
  const found = { subject: 'database', check: 'reached' };
  const detail = `Postgres ${Math.floor(versionNumber / 10_000)}, as ${currentRole}.`;
  if (versionNumber >= POSTGRES_VERSION_MIN) return ok(found, detail);
  return fail(found, detail, 'Postgres 15 or later is required.');
}

function migrated({ migrations }: DatabaseState): Finding {
  const found = { subject: 'database', check: 'migrations' };
  if (migrations === undefined) return fail(found, 'No migration was applied.', RUN_SETUP);
  if (isBeforeRelease(migrations)) {
    const detail = 'It belongs to a version before 0.1.0, which cannot be upgraded.';
    return fail(found, detail, 'Start with a new, empty database.');
  }
  const applied = new Map(migrations.map(({ name, checksum: sum }) => [name, sum]));
  const known = new Set(MIGRATIONS.map(({ name }) => name));
  const later = migrations.flatMap(({ name }) => (known.has(name) ? [] : [name]));
  if (later.length > 0) {
    const detail = `It has ${later.join(', ')}, which this version does not know.`;
    return fail(found, detail, 'Use the gateway version that this database belongs to.');
  }
  const changed = MIGRATIONS.filter((each) => (applied.get(each.name) ?? checksum(each)) !== checksum(each));
  if (changed.length > 0) {
    const detail = `${changed.map(({ name }) => name).join(', ')} differs in this version.`;
    return fail(found, detail, 'Use the gateway version that this database belongs to.');
  }
  const missing = MIGRATIONS.flatMap(({ name }) => (applied.has(name) ? [] : [name]));
  if (missing.length > 0) return fail(found, `Missing: ${missing.join(', ')}.`, RUN_SETUP);
  return ok(found, `All ${MIGRATIONS.length} are applied.`);
}

function rolesOf({ roles }: DatabaseState): Finding {
  const found = { subject: 'database', check: 'roles' };
  const wanted = SERVICE_ROLES.map(serviceRole);
  const missing = wanted.filter((role) => !roles.includes(role));
  if (missing.length === 0) return ok(found, `All ${wanted.length} exist.`);
  return fail(found, `Missing: ${missing.join(', ')}.`, RUN_SETUP);
}

async function examineBroker(url: string): Promise<Finding> {
  const found = { subject: 'broker', check: 'queues' };
  try {
    const missing = await findMissingTopology(url);
    if (missing.length === 0) return ok(found, 'All exchanges and queues exist.');
    return fail(found, `Missing: ${missing.join(', ')}.`, RUN_SETUP);
  } catch (error) {
    return notReached(error, 'broker', 'Check its URL, user and password, and that it runs.');
  }
}

function notReached(error: unknown, subject: string, mend: string): Finding {
  if (!(error instanceof GatewayError)) throw error;
  return { outcome: 'fail', subject, check: 'reached', detail: sentence(error.message), mend };
}
