/** A drawing on a tile of its own colour, so that it looks the same on light and dark pages. */
function tile(background: string, drawing: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 200"><rect width="240" height="200" fill="${background}"/>${drawing}</svg>`;
}

const PINE = 'M0-34 16-10H8L22 12H10L24 32H4v12h-8V32h-20l14-20h-12L-8-10h-8z';
const SHADOW = '<ellipse cx="120" cy="172" rx="72" ry="7" fill="#000" opacity=".12"/>';

/** Product id to its SVG picture. */
export const PICTURES: Readonly<Record<string, string>> = {
  mug: tile(
    '#dfeae2',
    `${SHADOW}<path d="M158 82h14a24 24 0 0 1 0 48h-14" fill="none" stroke="#1f6b50" stroke-width="13"/>
<path d="M72 54h90v92a22 22 0 0 1-22 22H94a22 22 0 0 1-22-22z" fill="#2b8263"/><path d="M72 54h18v92q0 15 12 22h-8a22 22 0 0 1-22-22z" fill="#1f6b50"/>
<ellipse cx="117" cy="54" rx="45" ry="9" fill="#17503c"/><ellipse cx="117" cy="56" rx="37" ry="6" fill="#5b3a22"/>
<path d="${PINE}" transform="translate(120 112)" fill="#f4efe4"/><path d="M102 36q-7-9 0-18M120 34q-7-9 0-18M138 36q-7-9 0-18" fill="none" stroke="#fff" stroke-width="5" stroke-linecap="round"/>`,
  ),
  hoodie: tile(
    '#e1e7f2',
    `${SHADOW}<path d="M84 62 50 84l-16 70 24 8 14-44v54h96v-54l14 44 24-8-16-70-34-22z" fill="#3d5a96"/>
<path d="M72 118v54h12V92zM168 118v54h-12V92z" fill="#324b80"/><path d="M84 62q-4-34 36-38 40 4 36 38-10 28-36 28T84 62z" fill="#4a69ab"/>
<path d="M97 62q0-22 23-24 23 2 23 24-6 18-23 20-17-2-23-20z" fill="#22345c"/><path d="M92 128h56l10 30H82z" fill="#324b80"/>
<path d="M108 84v26M132 84v26" stroke="#f4efe4" stroke-width="4" stroke-linecap="round"/>`,
  ),
  tote: tile(
    '#f3e7d3',
    `${SHADOW}<path d="M88 80V56a32 32 0 0 1 64 0v24" fill="none" stroke="#b98d55" stroke-width="9"/>
<path d="M62 74h116l10 98H52z" fill="#fbf5e9"/><path d="M62 74h18l-8 98H52z" fill="#efe3cd"/>
<circle cx="136" cy="112" r="15" fill="#e2953b"/><path d="M80 150q22-42 44-14 10-16 20-10 14 8 18 24z" fill="#2b8263"/><path d="M80 150q30-18 82 0z" fill="#1f6b50"/>`,
  ),
  notebook: tile(
    '#f4dfdc',
    `${SHADOW}<g transform="rotate(-5 120 104)"><path d="M82 42h86a6 6 0 0 1 6 6v116a6 6 0 0 1-6 6H82z" fill="#f7f2e8"/>
<path d="M78 36h84a8 8 0 0 1 8 8v112a8 8 0 0 1-8 8H78z" fill="#b8403a"/><path d="M66 36h20v128H74a8 8 0 0 1-8-8z" fill="#8f2f2b"/>
<rect x="102" y="62" width="50" height="30" rx="4" fill="#f7f2e8"/><path d="M110 72h34M110 81h22" stroke="#8f2f2b" stroke-width="4" stroke-linecap="round"/>
<path d="M148 160v28l-7-7-7 7v-28z" fill="#e2953b"/></g>`,
  ),
  cap: tile(
    '#fbeecb',
    `${SHADOW}<path d="M58 132q-4-72 62-76 66 4 62 76z" fill="#e0a52c"/><path d="M120 56q-26 30-22 76H58q-4-72 62-76z" fill="#c98f1d"/>
<path d="M120 56q26 30 22 76" fill="none" stroke="#b57d12" stroke-width="3"/><circle cx="120" cy="55" r="6" fill="#b57d12"/>
<path d="M52 132h136q24 8 30 22-40 10-98 10-52 0-78-8-2-16 10-24z" fill="#b57d12"/><path d="${PINE}" transform="translate(120 104) scale(.6)" fill="#fff6de"/>`,
  ),
  sticker: tile(
    '#e4e0f1',
    `<circle cx="122" cy="104" r="70" fill="#000" opacity=".1"/><circle cx="120" cy="100" r="70" fill="#fff"/><circle cx="120" cy="100" r="61" fill="#5b4a8f"/>
<circle cx="144" cy="74" r="13" fill="#f2c14e"/><path d="${PINE}" transform="translate(92 112) scale(.75)" fill="#8fd0b2"/>
<path d="${PINE}" transform="translate(120 106)" fill="#dff3e8"/><path d="${PINE}" transform="translate(149 114) scale(.7)" fill="#8fd0b2"/>
<path d="M70 142h100q-20 19-50 19t-50-19z" fill="#2b8263"/><path d="M174 144q10-14 14-30l-22 8z" fill="#d9d4ea"/>`,
  ),
};

/** A pine on a pebble. deploy/local also gives it to the demo merchant, for the checkout page. */
export const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
<rect width="64" height="64" rx="14" fill="#1f6b50"/>
<ellipse cx="32" cy="48" rx="22" ry="9" fill="#cfd8d3"/>
<path d="M12 46q8-7 20-7t18 5q-8-3-18-2t-20 4z" fill="#eef3f0"/>
<path d="M32 8 43 23h-6l9 11H34v9h-4v-9H18l9-11h-6z" fill="#f4efe4"/>
</svg>
`;
