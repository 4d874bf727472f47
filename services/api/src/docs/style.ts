/** Style of the reference page, for phones and wide screens, light and dark. It loads no other resource. */
export const REFERENCE_STYLE = `
:root{color-scheme:light dark;--line:#d5d9df;--soft:#f4f5f7;--dim:#545d69;--link:#0b5cad;--get:#0c6b46;--post:#8a4b00;font:16px/1.55 system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root{--line:#39424e;--soft:#1b2129;--dim:#a7b0bc;--link:#7cb8f5;--get:#62cf9f;--post:#f0b26a;background:#12161b;color:#e7eaee}}
*{box-sizing:border-box}body{margin:0;display:grid;grid-template-columns:minmax(0,1fr)}
a{color:var(--link)}main{padding:1.5rem;max-width:62rem;min-width:0}
nav{padding:1.5rem;background:var(--soft);border-bottom:1px solid var(--line);font-size:.92rem}
nav p{margin:0 0 .3rem;font-weight:700}nav ul{list-style:none;margin:0 0 1rem;padding:0}nav li{padding:.1rem 0}nav a{text-decoration:none}nav a:hover{text-decoration:underline}
h1{margin:0 0 .5rem;font-size:1.8rem}h2{margin:3rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line);font-size:1.25rem;overflow-wrap:anywhere}h3{margin:1.4rem 0 .4rem;font-size:1rem}
:target{scroll-margin-top:1rem}section:target>h2{color:var(--link)}
.verb{font-size:.8rem;font-weight:700;letter-spacing:.04em;margin-right:.4rem}.get{color:var(--get)}.post{color:var(--post)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.88em}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem;overflow-x:auto;line-height:1.45}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:.5rem}
table{border-collapse:collapse;width:100%;font-size:.93rem}th,td{padding:.45rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>*{border-bottom:0}thead th{background:var(--soft);font-size:.82rem}tbody th{font-weight:400}
.rule{color:var(--dim);font-size:.88rem;overflow-wrap:anywhere}ul.texts{margin:0;padding-left:1.1rem}
@media(min-width:60rem){body{grid-template-columns:17rem minmax(0,1fr)}nav{position:sticky;top:0;height:100vh;overflow-y:auto;border-bottom:0;border-right:1px solid var(--line)}main{padding:2rem 2.5rem}}`;
